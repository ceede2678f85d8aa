//! Parses and runs scripts.

use market::{Market, Price, Timestamp};
use trading::{
    Account, Attached, AttachedChanges, Changes, Command, Currency, Engine, Entry, EstimateQuery, Factors,
    Kind, Money, OrderId, OrderType, Outcome, Percent, Quantity, Rate, Security, Setting, Settings, Share,
    Submit, Terms, balances, estimate, parse_price, plain_price,
};

use super::grid;
use super::market::{Store, at, date, symbol, tables};
use super::show;

/// An account, its market and the current position in the script.
pub struct Player {
    pub store: Store,
    pub account: Account,
    pub entries: Vec<Entry>,
    outcomes: Vec<Outcome>,
    market: Market,
    day: String,
}

const NUMBER: u64 = 10_000_104;

/// Runs a script and compares each line's output with the lines that start with `>`.
pub fn check(script: &str) {
    let mut player = Player::new(script);
    let mut expected: Vec<String> = Vec::new();
    let mut found: Vec<String> = Vec::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        expected.push(line.to_owned());
        if line.starts_with('>') {
            continue;
        }
        found.push(line.to_owned());
        found.extend(player.line(line).into_iter().map(|line| format!("> {line}")));
    }
    let (expected, found) = (expected.join("\n"), found.join("\n"));
    assert!(expected == found, "\nexpected:\n{expected}\n\nfound:\n{found}\n");
    player.check_fold();
}

/// Runs a script and ignores its output.
pub fn play(script: &str) -> Player {
    play_as(NUMBER, script)
}

/// Like [`play`], for an account with another number.
pub fn play_as(account: u64, script: &str) -> Player {
    let mut player = Player::numbered(account, script);
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('>')) {
        player.line(line);
    }
    player
}

impl Player {
    /// Creates a player. All data in the script is stored first, regardless of its position,
    /// because the store must be complete before it is queried.
    pub fn new(script: &str) -> Player {
        Player::numbered(NUMBER, script)
    }

    fn numbered(account: u64, script: &str) -> Player {
        let mut player = Player {
            store: Store::default(),
            account: Account::default(),
            entries: Vec::new(),
            outcomes: Vec::new(),
            market: Market::Hk,
            day: "2026-03-18".to_owned(),
        };
        for line in script.lines().map(str::trim).filter(|line| !line.starts_with('>')) {
            player.stored(line);
        }
        (player.market, player.day) = (Market::Hk, "2026-03-18".to_owned());
        player.handle(&Command::Open { account, settings: Settings::default() }, Timestamp(0));
        player
    }

    pub fn instant(&self, clock: &str) -> Timestamp {
        at(self.market, &format!("{} {clock}", self.day))
    }

    /// Handles a line that adds data to the store. Returns `false` for other lines.
    fn stored(&mut self, line: &str) -> bool {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["clock", market] => self.market = Market::parse(market).expect("a market"),
            ["day", day] => self.day = (*day).to_owned(),
            // A candle on the previous trading day, which sets the initial mark.
            ["mark", of, price] => {
                let of = symbol(of);
                let venue = super::market::venues().of(of.market());
                let before = venue.calendar().on_or_before(date(&self.day).yesterday().unwrap()).unwrap();
                let time = at(of.market(), &format!("{before} 10:00"));
                self.store.add(&of, time, &[price, price, price, price, "1"], None);
            }
            ["candle", of, rest @ ..] => {
                for candle in rest.join(" ").split(';') {
                    let words: Vec<&str> = candle.split_whitespace().collect();
                    let [clock, values @ ..] = words.as_slice() else { panic!("{line}") };
                    let of = symbol(of);
                    let (values, late) = values.split_at(5);
                    let arrived = late.get(1).map(|clock| at(of.market(), &format!("{} {clock}", self.day)));
                    let time = at(of.market(), &format!("{} {clock}", self.day));
                    self.store.add(&of, time, values, arrived);
                }
            }
            // The daily candle of the script's day with the values `O H L C V`, and its arrival
            // time if it arrived late.
            ["daily", of, values @ ..] => {
                let of = symbol(of);
                let (values, late) = values.split_at(5);
                let arrived = match late {
                    ["at", day, clock] => Some(at(of.market(), &format!("{day} {clock}"))),
                    _ => None,
                };
                self.store.add_day(&of, date(&self.day), values, arrived);
            }
            ["security", of, kind, "lot", lot] => {
                let currency = if symbol(of).market() == Market::Hk { Currency::HKD } else { Currency::USD };
                let kind: Kind = kind.parse().expect("a kind");
                let lot = Quantity::parse(lot).expect("a lot");
                self.store
                    .securities
                    .insert(symbol(of), Security { kind, lot, currency, is_delisted: false });
            }
            ["delisted", of] => {
                let plain = trading::Feed::security(&self.store, &symbol(of), date(&self.day)).unwrap();
                self.store.securities.insert(symbol(of), Security { is_delisted: true, ..plain });
            }
            ["lot", of, lot, "from", from] => {
                self.store.lots.push((symbol(of), date(from), Quantity::parse(lot).expect("a lot")));
            }
            ["close", of, day, price] => {
                self.store.closes.push((symbol(of), date(day), Price::parse(price).unwrap()))
            }
            ["action", of, day, rest @ ..] => {
                let text = rest.join(" ");
                let (text, paid) =
                    text.split_once(" paid ").map_or((text.as_str(), None), |(a, b)| (a, Some(date(b))));
                self.store.act(&symbol(of), date(day), text, paid);
            }
            ["rate", currency, rate] => {
                let rate = Rate::parse(rate).expect("a rate");
                self.store.rates.push((currency.parse().expect("a currency"), date("2020-01-01"), rate));
            }
            ["margin", of, im, mm, fm] => {
                self.store.factors.insert(symbol(of), Factors::parse(im, mm, fm).expect("factors"));
            }
            _ => return false,
        }
        true
    }

    /// Executes a line and returns its output.
    pub fn line(&mut self, line: &str) -> Vec<String> {
        if line.starts_with("clock ") || line.starts_with("day ") {
            self.stored(line);
            return Vec::new();
        }
        if line.starts_with('#') || self.clone_is_stored(line) {
            return Vec::new();
        }
        if let Some(given) = line.strip_prefix("given ") {
            let command = operator(given);
            return self.handle_shown(&command, Timestamp(0));
        }
        let (clock, rest) = line.split_once(' ').unwrap_or((line, "now"));
        let now = self.instant(clock);
        self.act(rest, now)
    }

    fn clone_is_stored(&self, line: &str) -> bool {
        let first = line.split_whitespace().next().unwrap_or("");
        ["mark", "candle", "daily", "security", "delisted", "lot", "close", "action", "rate", "margin"]
            .contains(&first)
    }

    fn act(&mut self, rest: &str, now: Timestamp) -> Vec<String> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        if let Some(command) = grid::command(&words, self.account.number(), |clock| self.instant(clock)) {
            return self.handle_shown(&command, now);
        }
        match words.as_slice() {
            ["now"] => self.advance(now),
            ["bases"] => {
                self.advance(now);
                let base = self.account.grids().iter().map(|grid| format!("base {}", plain_price(grid.base)));
                grid::triggers(&self.entries).into_iter().chain(base).collect()
            }
            ["buy" | "sell", ..] => {
                let terms = terms(&words, |clock| self.instant(clock));
                self.handle_shown(&Command::submit(terms), now)
            }
            // Submits an order from an account whose API version predates the withdrawal of order
            // types.
            ["dated", words @ ..] => {
                let terms = terms(words, |clock| self.instant(clock));
                let request = Submit { terms, takes_withdrawn: true };
                self.handle_shown(&Command::Submit(Box::new(request)), now)
            }
            ["replace", order, quantity, options @ ..] => {
                let instant = |clock: &str| self.instant(clock);
                let changes = Box::new(changes(quantity, options, |text| self.id(text), instant));
                self.handle_shown(&Command::Replace { id: self.id(order), changes }, now)
            }
            ["cancel", order] => self.handle_shown(&Command::Cancel { id: self.id(order) }, now),
            ["given", ..] => self.handle_shown(&operator(&words[1..].join(" ")), now),
            _ => {
                let mut lines = self.advance(now);
                lines.extend(self.ask(&words, now));
                lines
            }
        }
    }

    /// Returns the output of a query.
    pub fn ask(&self, words: &[&str], now: Timestamp) -> Vec<String> {
        let engine = Engine::new(&self.store, tables());
        let view = engine.view(now);
        let order = |text: &str| self.account.order(self.id(text)).expect("an order");
        if let Some(lines) = grid::answer(words, &self.account, &view) {
            return lines;
        }
        match words {
            ["cash", currency] => vec![show::cash_line(&self.account, &view, currency)],
            ["position", of] => vec![show::position_line(&self.account, of)],
            ["account"] => vec![show::account_line(&self.account, &view, None)],
            ["account", currency] => vec![show::account_line(&self.account, &view, Some(currency))],
            ["attached", of] => {
                let attached = self.account.attached_orders(order(of));
                attached.map(show::attached_line).collect()
            }
            ["detail", of] => vec![show::detail_line(order(of))],
            ["fees", of] => vec![show::fees_line(order(of), tables())],
            ["flows"] => show::flow_lines(&self.outcomes),
            ["stop", of] => vec![show::stop_line(order(of))],
            ["mark?", of] => {
                vec![view.mark(&symbol(of)).map_or("none".to_owned(), |mark| mark.text(2).to_string())]
            }
            ["accrued", currency] => {
                vec![self.account.accrued_interest(currency.parse().expect("a currency")).to_string()]
            }
            ["today"] => {
                let today = self.account.orders().iter().filter(|order| trading::is_today(order, &view));
                vec![today.map(|order| format!("#{}", order.id.number())).collect::<Vec<_>>().join(" ")]
            }
            ["estimate", side, of, order_type, options @ ..] => {
                let query = EstimateQuery {
                    symbol: symbol(of),
                    side: if *side == "buy" { trading::Side::Buy } else { trading::Side::Sell },
                    order_type: order_type.parse().expect("an order type"),
                    price: options.first().map(|price| parse_price(price).expect("a price")),
                    order: options.get(1).map(|order| self.id(order)),
                    fractional: false,
                };
                match estimate(&self.account, &view, &query) {
                    Ok(found) => vec![format!("cash {} margin {}", found.cash_max, found.margin_max)],
                    Err(refusal) => vec![format!("refused `{refusal}`")],
                }
            }
            _ => panic!("{words:?}"),
        }
    }

    fn id(&self, text: &str) -> OrderId {
        OrderId::of(self.account.number(), text.trim_start_matches('#').parse().expect("an order number"))
    }

    pub fn advance(&mut self, now: Timestamp) -> Vec<String> {
        let outcome = Engine::new(&self.store, tables()).advance(&mut self.account, now);
        self.note(outcome)
    }

    pub fn handle(&mut self, command: &Command, now: Timestamp) -> Option<trading::Refusal> {
        let mut outcome = Engine::new(&self.store, tables()).handle(&mut self.account, command, now);
        let refusal = outcome.refusal.take();
        self.note(outcome);
        refusal
    }

    fn handle_shown(&mut self, command: &Command, now: Timestamp) -> Vec<String> {
        let mut outcome = Engine::new(&self.store, tables()).handle(&mut self.account, command, now);
        let refusal = outcome.refusal.take();
        let mut lines = self.note(outcome);
        lines.extend(refusal.map(|refusal| format!("refused {} `{refusal}`", u32::from(refusal.code))));
        lines
    }

    fn note(&mut self, outcome: Outcome) -> Vec<String> {
        self.entries.extend(outcome.entries.iter().cloned());
        let lines = outcome.pushes.iter().map(|push| show::push_line(push, self.market, &self.day)).collect();
        self.outcomes.push(outcome);
        lines
    }

    pub fn pushes(&self) -> impl Iterator<Item = &trading::Push> {
        self.outcomes.iter().flat_map(|outcome| &outcome.pushes)
    }

    /// Checks that the journal folds to the same account after a serialization round trip, and that
    /// a snapshot restores the same account.
    pub fn check_fold(&self) {
        let text: Vec<String> =
            self.entries.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
        let read: Vec<Entry> = text
            .iter()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
            .collect();
        assert_eq!(read, self.entries);
        let mut folded = Account::fold(&read);
        folded.set_horizon(self.account.horizon());
        assert_eq!(folded, self.account);
        let snapshot = serde_json::to_string(&self.account).unwrap();
        assert_eq!(serde_json::from_str::<Account>(&snapshot).unwrap(), self.account);
        // The cached reserves must equal the reserves of an account without a cache.
        let view = Engine::new(&self.store, tables()).view(self.account.horizon().unwrap_or_default());
        assert_eq!(balances(&folded, &view), balances(&self.account, &view));
    }
}

/// Parses `cash HKD 500000`, `position 700.HK 300 310.4`, `credit 400000`, `set touch touch` and
/// other operator commands.
fn operator(text: &str) -> Command {
    let words: Vec<&str> = text.split_whitespace().collect();
    let money = |text: &str| Money::parse(text).unwrap_or_else(|_| panic!("{text:?} is no amount"));
    match words.as_slice() {
        ["cash", currency, amount] if amount.starts_with('-') => Command::Adjust {
            currency: currency.parse().expect("a currency"),
            amount: money(amount),
            note: "debt".to_owned(),
        },
        ["cash", currency, amount] => {
            Command::Deposit { currency: currency.parse().expect("a currency"), amount: money(amount) }
        }
        ["withdraw", currency, amount] => {
            Command::Withdraw { currency: currency.parse().expect("a currency"), amount: money(amount) }
        }
        ["exchange", from, amount, to] => Command::Exchange {
            from: from.parse().expect("a currency"),
            amount: money(amount),
            to: to.parse().expect("a currency"),
        },
        ["credit", amount] => Command::SetCredit(money(amount)),
        ["position", of, quantity, cost] => Command::EnterPosition {
            symbol: symbol(of),
            quantity: Quantity::parse(quantity).expect("a quantity"),
            cost: Price::parse(cost).expect("a cost"),
        },
        ["set", key, value] => Command::Set(setting(key, value)),
        _ => panic!("{text:?}"),
    }
}

fn setting(key: &str, value: &str) -> Setting {
    let on = value == "on";
    match key {
        "participation" if value == "off" => Setting::Participation(None),
        "participation" => Setting::Participation(Some(Share::parse(value).expect("a share"))),
        "touch" => Setting::Touch(value.parse().expect("touch or through")),
        "slippage" => Setting::SlippageTicks(value.parse().expect("a number")),
        "type" => Setting::AccountType(value.parse().expect("margin or cash")),
        "fees" => Setting::Fees(value.parse().expect("a plan")),
        "cost" => Setting::Cost(value.parse().expect("a method")),
        "fractional" => Setting::Fractional(on),
        "short_us" => Setting::ShortUs(on),
        "short_hk" => Setting::ShortHk(on),
        "liquidate" => Setting::Liquidate(on),
        "grid_questionnaire" => Setting::GridQuestionnaire(on),
        "open_orders" => Setting::OpenOrders(value.parse().expect("a number")),
        "grid_triggers" => Setting::GridTriggers(value.parse().expect("a number")),
        "journal_entries" => Setting::JournalEntries(value.parse().expect("a number")),
        "coarse_fills" => Setting::CoarseFills(on),
        _ => panic!("{key:?} is no setting"),
    }
}

/// Parses `buy 200 700.HK LO 306.00 tif GTC …`.
fn terms(words: &[&str], instant: impl Fn(&str) -> Timestamp) -> Terms {
    let [side, quantity, of, order_type, rest @ ..] = words else { panic!("{words:?}") };
    let side = if *side == "buy" { trading::Side::Buy } else { trading::Side::Sell };
    let order_type: OrderType = order_type.parse().expect("an order type");
    let quantity = Quantity::parse(quantity).expect("a quantity");
    let mut terms = Terms::new(symbol(of), side, order_type, quantity);
    let price = |text: &str| Some(parse_price(text).unwrap_or_else(|_| panic!("{text:?} is no price")));
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        let mut value = || *rest.next().unwrap_or_else(|| panic!("{word} has no value"));
        match *word {
            "tif" => terms.time_in_force = value().parse().expect("a time in force"),
            "until" => terms.expire_date = Some(date(value())),
            "rth" => terms.outside_rth = Some(value().parse().expect("a lane")),
            "trigger" => terms.trigger_price = price(value()),
            "offset" => terms.limit_offset = price(value()),
            "amount" => terms.trailing_amount = price(value()),
            "percent" => terms.trailing_percent = Some(Percent::parse(value()).expect("a percentage")),
            "depth" => terms.depth_level = value().parse().expect("a level"),
            "count" => terms.trigger_count = value().parse().expect("a count"),
            "monitor" => terms.monitor_price = price(value()),
            "remark" => terms.remark = value().to_owned(),
            "held" => terms.delayed_until = Some(instant(value())),
            "attach" => terms.attached = Some(Box::new(Attached::new(value().parse().expect("a type")))),
            word if word.starts_with('+') => {
                attach(terms.attached.as_mut().expect("attach first"), word, value(), &instant)
            }
            number => terms.price = price(number),
        }
    }
    terms
}

/// Parses the value of one term of attached orders: `+take 310`, `+stop 290`, `+take-limit 309` ….
fn attach(attached: &mut Attached, word: &str, value: &str, instant: &impl Fn(&str) -> Timestamp) {
    let price = || Some(parse_price(value).unwrap_or_else(|_| panic!("{value:?} is no price")));
    match word {
        "+take" => attached.profit_taker_price = price(),
        "+stop" => attached.stop_loss_price = price(),
        "+take-limit" => attached.profit_taker_submit_price = price(),
        "+stop-limit" => attached.stop_loss_submit_price = price(),
        "+type" => attached.order_type = Some(value.parse().expect("an order type")),
        "+tif" => attached.time_in_force = Some(value.parse().expect("a time in force")),
        "+rth" => attached.outside_rth = Some(value.parse().expect("a lane")),
        // An instant of the script's day.
        "+until" => attached.expire_time = Some(instant(value)),
        _ => panic!("{word:?}"),
    }
}

fn changes(
    quantity: &str,
    options: &[&str],
    id: impl Fn(&str) -> OrderId,
    instant: impl Fn(&str) -> Timestamp,
) -> Changes {
    let mut changes =
        Changes { quantity: Quantity::parse(quantity).expect("a quantity"), ..Changes::default() };
    let price = |text: &str| Some(parse_price(text).unwrap_or_else(|_| panic!("{text:?} is no price")));
    for pair in options.chunks(2) {
        let [key, value] = pair else { panic!("{options:?}") };
        match *key {
            "price" => changes.price = price(value),
            "trigger" => changes.trigger_price = price(value),
            "offset" => changes.limit_offset = price(value),
            "amount" => changes.trailing_amount = price(value),
            "percent" => changes.trailing_percent = Some(Percent::parse(value).expect("a percentage")),
            "monitor" => changes.monitor_price = price(value),
            "remark" => changes.remark = Some((*value).to_owned()),
            "attach" => {
                let attached = Attached::new(value.parse().expect("a type"));
                changes.attached = Some(Box::new(AttachedChanges {
                    attached,
                    profit_taker_id: None,
                    stop_loss_id: None,
                    main_id: None,
                    cancel_all: false,
                    quantity: None,
                }));
            }
            _ => {
                let attached = changes.attached.as_mut().expect("attach first");
                match *key {
                    "+take-id" => attached.profit_taker_id = Some(id(value)),
                    "+stop-id" => attached.stop_loss_id = Some(id(value)),
                    "+main" => attached.main_id = Some(id(value)),
                    "+all" => attached.cancel_all = *value == "cancel",
                    "+quantity" => attached.quantity = Some(Quantity::parse(value).expect("a quantity")),
                    _ => attach(&mut attached.attached, key, value, &instant),
                }
            }
        }
    }
    changes
}
