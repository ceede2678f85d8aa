//! Commands 24 and 25: net inflow since the open by minute, and the day's capital inflow and
//! outflow by trade size.

use access::Permit;
use history::HistoryError;
use market::{FloorTable, Floors, Symbol};
use wire::quote::{
    CapitalBySize, CapitalDistributionResponse, CapitalFlowLine, CapitalFlowResponse, SymbolRequest,
};

use super::definition::{Command, Context, Subject, symbol};
use crate::caller::Caller;
use crate::core::Core;
use crate::refusal::Refusal;

#[derive(Debug)]
pub(crate) struct CapitalFlow {
    symbol: Symbol,
    floors: Floors,
}

impl Command for CapitalFlow {
    const NUMBER: u8 = wire::command::CAPITAL_FLOW;
    const LABEL: &'static str = "capital_flow";
    type Request = SymbolRequest;
    type Response = CapitalFlowResponse;

    fn parse(request: SymbolRequest, context: &Context<'_>) -> Result<CapitalFlow, Refusal> {
        let symbol = symbol(&request.symbol)?;
        let floors = context.floors.of(symbol.market());
        Ok(CapitalFlow { symbol, floors })
    }

    fn subject(&self) -> Subject<'_> {
        Subject::CapitalFlow(&self.symbol)
    }

    fn narrow(&mut self, _: &Caller, floors: FloorTable) {
        self.floors = floors.of(self.symbol.market());
    }

    fn answer(self, caller: &Caller, _: &Permit, core: &Core) -> Result<CapitalFlowResponse, Refusal> {
        let CapitalFlow { symbol, floors } = self;
        let found =
            core.with_reader(|reader| core.history.capital_flow(reader, &symbol, floors, caller.as_of));
        let flow = found.map_err(|error: HistoryError| Refusal::from(error))?;
        let line = |(at, total): (market::Timestamp, market::Turnover)| CapitalFlowLine {
            inflow: total.text().to_string(),
            timestamp: at.0,
        };
        Ok(CapitalFlowResponse {
            symbol: symbol.as_str().to_owned(),
            capital_flow_lines: flow.lines.into_iter().map(line).collect(),
        })
    }
}

#[derive(Debug)]
pub(crate) struct CapitalDistribution {
    symbol: Symbol,
    floors: Floors,
}

impl Command for CapitalDistribution {
    const NUMBER: u8 = wire::command::CAPITAL_DISTRIBUTION;
    const LABEL: &'static str = "capital_distribution";
    type Request = SymbolRequest;
    type Response = CapitalDistributionResponse;

    fn parse(request: SymbolRequest, context: &Context<'_>) -> Result<CapitalDistribution, Refusal> {
        let symbol = symbol(&request.symbol)?;
        let floors = context.floors.of(symbol.market());
        Ok(CapitalDistribution { symbol, floors })
    }

    fn subject(&self) -> Subject<'_> {
        Subject::CapitalFlow(&self.symbol)
    }

    fn narrow(&mut self, _: &Caller, floors: FloorTable) {
        self.floors = floors.of(self.symbol.market());
    }

    fn answer(
        self,
        caller: &Caller,
        _: &Permit,
        core: &Core,
    ) -> Result<CapitalDistributionResponse, Refusal> {
        let CapitalDistribution { symbol, floors } = self;
        let found = core.with_reader(|reader| {
            core.history.capital_distribution(reader, &symbol, floors, core.class_shares, caller.as_of)
        });
        let capital = found.map_err(|error: HistoryError| Refusal::from(error))?.in_thousandths();
        Ok(CapitalDistributionResponse {
            symbol: symbol.as_str().to_owned(),
            timestamp: capital.last.map_or(0, |at| at.0),
            capital_in: Some(message(&capital.capital_in)),
            capital_out: Some(message(&capital.capital_out)),
        })
    }
}

fn message(sums: &market::CapitalBySize) -> CapitalBySize {
    CapitalBySize {
        large: sums.large.text().to_string(),
        medium: sums.medium.text().to_string(),
        small: sums.small.text().to_string(),
    }
}
