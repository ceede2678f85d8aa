//! Identifies the program that sent an HTTP request by its `User-Agent` header and, for
//! command-line clients, `x-cli-cmd`. Logs and metrics receive only values from a closed set, or a
//! plain version number.

use hyper::header::HeaderMap;

use crate::metrics::{Agent, CliCommand};

/// Maximum length of a logged client version.
const VERSION_MAX: usize = 24;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ClientProgram {
    pub(crate) agent: Agent,
    /// Version of a command-line client.
    pub(crate) version: Option<Box<str>>,
    /// Command run by a command-line client.
    pub(crate) command: Option<CliCommand>,
}

impl ClientProgram {
    pub(crate) fn of(headers: &HeaderMap) -> ClientProgram {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        // The public command-line client and its SDK each send a `User-Agent` line. The client's
        // line takes priority.
        let named = || {
            let lines = headers.get_all("user-agent").iter().filter_map(|value| value.to_str().ok());
            lines.map(|line| {
                let (name, version) = line.split_once('/').unwrap_or((line, ""));
                (agent_of(name), version)
            })
        };
        let first = || named().find(|(agent, _)| *agent != Agent::Other);
        let found = named().find(|(agent, _)| *agent == Agent::Cli).or_else(first);
        let (agent, version) = found.unwrap_or((Agent::Other, ""));
        let is_plain = |version: &&str| {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b".-+".contains(&byte);
            (1..=VERSION_MAX).contains(&version.len()) && version.bytes().all(is_letter)
        };
        let version = Some(version).filter(|_| agent == Agent::Cli).filter(is_plain).map(Box::from);
        // The header also contains subcommands, as in `account set`. Only the first word is used.
        let command = text("x-cli-cmd").and_then(|words| words.split(' ').next()).map(|word| {
            let known = CliCommand::ALL.iter().copied().find(|command| command.as_str() == word);
            known.unwrap_or(CliCommand::Other)
        });
        ClientProgram { agent, version, command }
    }
}

/// Maps a program name to an [`Agent`].
fn agent_of(name: &str) -> Agent {
    match name {
        "cli" | "longbridge-cli" => Agent::Cli,
        "openapi-sdk" => Agent::Sdk,
        "Mozilla" => Agent::Browser,
        _ => Agent::Other,
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn program(
        agent: &'static [u8],
        command: Option<&'static [u8]>,
    ) -> (Agent, Option<String>, Option<CliCommand>) {
        let mut headers = HeaderMap::new();
        headers.insert("user-agent", HeaderValue::from_bytes(agent).unwrap());
        if let Some(command) = command {
            headers.insert("x-cli-cmd", HeaderValue::from_bytes(command).unwrap());
        }
        let ClientProgram { agent, version, command } = ClientProgram::of(&headers);
        (agent, version.map(String::from), command)
    }

    #[test]
    fn only_known_programs_and_commands_are_reported() {
        let version = |text: &str| Some(text.to_owned());
        assert_eq!(
            program(b"cli/0.9.1", Some(b"kline")),
            (Agent::Cli, version("0.9.1"), Some(CliCommand::Kline))
        );
        let set = program(b"cli/1.0.0-rc.1+7", Some(b"account set"));
        assert_eq!(set, (Agent::Cli, version("1.0.0-rc.1+7"), Some(CliCommand::Account)));
        assert_eq!(program(b"openapi-sdk", None), (Agent::Sdk, None, None));
        assert_eq!(program(b"Mozilla/5.0 (X11)", None), (Agent::Browser, None, None));
        assert_eq!(program(b"curl/8.5.0", Some(b"")), (Agent::Other, None, Some(CliCommand::Other)));
        for odd in [&b"cli/700.HK secret"[..], b"cli/", b"cli", b"cli/0123456789012345678901234"] {
            assert_eq!(
                program(odd, Some(b"../700.HK")),
                (Agent::Cli, None, Some(CliCommand::Other)),
                "{odd:?}"
            );
        }
        assert_eq!(program(b"\xff", Some(b"\xff")), (Agent::Other, None, None));
        // One request with two `User-Agent` lines, in either order.
        for lines in [["cli/0.9.1", "openapi-sdk"], ["openapi-sdk", "longbridge-cli/0.9.1"]] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append("user-agent", HeaderValue::from_static(line));
            }
            let ClientProgram { agent, version, .. } = ClientProgram::of(&headers);
            assert_eq!((agent, version.as_deref()), (Agent::Cli, Some("0.9.1")), "{lines:?}");
        }
        let none = ClientProgram { agent: Agent::Other, version: None, command: None };
        assert_eq!(ClientProgram::of(&HeaderMap::new()), none);
    }
}
