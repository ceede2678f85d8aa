//! Candles written into a fixed piece of stack, with decimal strings three digits at a time.

/// Four prices of at most 21 characters, a turnover of at most 38, three varints of at most 10 bytes, and their tags and
/// lengths come to 166 bytes; the rest is room for writes that are wider than what they mean.
const CANDLE_MAX: usize = 192;
/// Several candles are copied out at a time. Measured, it is no faster than one at a time.
const SIZE: usize = 2048;
const _: () = assert!(SIZE >= 2 * CANDLE_MAX);

#[derive(Debug)]
pub(crate) struct Pen {
    bytes: [u8; SIZE],
    at: usize,
}

impl Default for Pen {
    fn default() -> Pen {
        Pen { bytes: [0; SIZE], at: 0 }
    }
}

/// The three digits of each number below a thousand, and a byte of padding so that an entry is one word.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which would refuse a bad index")]
const GROUPS: [[u8; 4]; 1000] = {
    let mut groups = [[0; 4]; 1000];
    let mut n = 0;
    while n < 1000 {
        groups[n] = [b'0' + (n / 100) as u8, b'0' + (n / 10 % 10) as u8, b'0' + (n % 10) as u8, 0];
        n += 1;
    }
    groups
};
static DIGITS: [[u8; 4]; 1000] = GROUPS;

/// Turnover has this many decimals in every market.
const TURNOVER_DECIMALS: u32 = 3;
const MILLIONTHS: u32 = 6;

impl Pen {
    /// Begins a message's field; fields written up to [`Pen::end_message`] are its own.
    pub(crate) fn begin_message(&mut self, tag: u8) -> usize {
        self.begin(tag)
    }

    /// Ends a message. Few are as long as 128 bytes; those are moved to make room for a second byte of length.
    pub(crate) fn end_message(&mut self, start: usize) {
        let length = self.at - start - 1;
        if length < 128 {
            return self.end(start);
        }
        let (from, to) = (start + 1, self.at);
        if to < SIZE {
            self.bytes.copy_within(from..to, from + 1);
        }
        self.at = start;
        self.byte(length as u8 | 128);
        self.byte((length >> 7) as u8);
        self.at = to + 1;
    }

    /// Hands over what was written if there may be no room for another candle.
    #[inline]
    pub(crate) fn flush_if_full(&mut self, out: &mut Vec<u8>) {
        if self.at > SIZE - CANDLE_MAX {
            self.flush(out);
        }
    }

    pub(crate) fn flush(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes.get(..self.at).unwrap_or_default());
        self.at = 0;
    }

    /// A number's field, left out if zero.
    #[inline]
    pub(crate) fn number(&mut self, tag: u8, value: i64) {
        if value == 0 {
            return;
        }
        self.byte(tag);
        let mut rest = value as u64;
        while rest >= 128 {
            self.byte(rest as u8 | 128);
            rest >>= 7;
        }
        self.byte(rest as u8);
    }

    /// A price's field: a string with exactly so many decimals.
    #[inline]
    pub(crate) fn price<const DECIMALS: u32>(&mut self, tag: u8, millionths: i64) {
        let start = self.begin(tag);
        self.decimal::<DECIMALS>(millionths < 0, millionths.unsigned_abs());
        self.end(start);
    }

    #[inline]
    pub(crate) fn turnover(&mut self, tag: u8, millionths: i128) {
        let start = self.begin(tag);
        let (negative, size) = (millionths < 0, millionths.unsigned_abs());
        match u64::try_from(size) {
            Ok(size) if size <= u64::MAX / 2 => self.decimal::<TURNOVER_DECIMALS>(negative, size),
            _ => self.wide_turnover(negative, size),
        }
        self.end(start);
    }

    /// Wider than any market's turnover, so no hurry.
    #[cold]
    fn wide_turnover(&mut self, negative: bool, size: u128) {
        const GROUP_OF_18: u128 = 10u128.pow(18);
        let step = 10u128.pow(MILLIONTHS - TURNOVER_DECIMALS);
        let rounded = size / step + u128::from(size % step >= step / 2);
        if negative {
            self.byte(b'-');
        }
        let (whole, thousandths) = (rounded / step, rounded % step);
        let (high, low) = (whole / GROUP_OF_18, whole % GROUP_OF_18);
        match high {
            0 => self.whole(low as u64),
            _ => {
                self.whole(high as u64);
                let mut unit = GROUP_OF_18;
                while unit > 1 {
                    unit /= 1000;
                    self.group((low / unit % 1000) as u64);
                }
            }
        }
        self.byte(b'.');
        self.group(thousandths as u64);
    }

    /// Rounds half away from zero; a value that rounds to zero has no sign. `size` is at most half of what fits.
    #[inline]
    fn decimal<const DECIMALS: u32>(&mut self, negative: bool, size: u64) {
        let step = const { 10u64.pow(MILLIONTHS - DECIMALS) };
        let unit = const { 10u64.pow(DECIMALS) };
        let rounded = (size + step / 2) / step;
        if negative && rounded != 0 {
            self.byte(b'-');
        }
        self.whole(rounded / unit);
        if DECIMALS == 0 {
            return;
        }
        self.byte(b'.');
        // The decimals from the left in groups of three; the last group may be one or two digits.
        let six = rounded % unit * const { 10u64.pow(MILLIONTHS - DECIMALS) };
        self.digits(six / 1000, DECIMALS.min(3) as usize);
        if DECIMALS > 3 {
            self.digits(six % 1000, DECIMALS as usize - 3);
        }
    }

    /// An integer without leading zeros.
    #[inline]
    fn whole(&mut self, value: u64) {
        match value {
            0..1_000 => self.lead(value),
            1_000..1_000_000 => {
                self.lead(value / 1_000);
                self.group(value % 1_000);
            }
            _ => self.long_whole(value),
        }
    }

    fn long_whole(&mut self, value: u64) {
        self.whole(value / 1_000_000);
        let six = value % 1_000_000;
        self.group(six / 1_000);
        self.group(six % 1_000);
    }

    /// One to three digits, as many as it takes.
    #[inline]
    fn lead(&mut self, value: u64) {
        let skipped = usize::from(value < 10) + usize::from(value < 100);
        let word = u32::from_le_bytes(three(value)) >> (8 * skipped);
        self.word(word, 3 - skipped);
    }

    #[inline]
    fn group(&mut self, value: u64) {
        self.digits(value, 3);
    }

    /// The first `count` of a number's three digits.
    #[inline]
    fn digits(&mut self, value: u64, count: usize) {
        self.word(u32::from_le_bytes(three(value)), count);
    }

    /// Writes four bytes of which `count` are meant; what follows writes over the others.
    #[inline]
    fn word(&mut self, word: u32, count: usize) {
        if let Some(place) = self.bytes.get_mut(self.at..self.at + 4) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.at += count;
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.at) {
            *place = byte;
        }
        self.at += 1;
    }

    /// Begins a string's field and returns where its length belongs.
    #[inline]
    fn begin(&mut self, tag: u8) -> usize {
        self.byte(tag);
        self.at += 1;
        self.at - 1
    }

    /// No string here reaches 128 bytes, so its length is one byte.
    #[inline]
    fn end(&mut self, start: usize) {
        let length = self.at - start - 1;
        if let Some(place) = self.bytes.get_mut(start) {
            *place = length as u8;
        }
    }
}

#[inline]
fn three(value: u64) -> [u8; 4] {
    DIGITS.get(value as usize).copied().unwrap_or_default()
}

pub(crate) fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 128 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}
