use super::*;

fn address(text: &str) -> Address {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(text: &str) -> String {
    let error =
        text.parse::<Address>().map_or_else(|error| error.to_string(), |read| panic!("{text} is {read}"));
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn an_address_round_trips() {
    for text in [
        "postgres://chandler@db.example:5432/market",
        "postgres://chandler@one:5432,two:6432,[fd00::7]:5432/market?target_session_attrs=any&sslmode=disable",
        "postgres://a%20b@%2Fvar%2Frun%2Fpostgresql:5433/a%2Fb%25",
        "postgres://u@10.0.0.7:5432/d?sslmode=verify-full&sslrootcert=/etc/ca.pem&schema=one&connect_timeout=9\
         &application_name=node%201&pool=4&password_file=/run/secrets/pg",
        "postgres://u@h:5432/d?passfile=/home/u/.pgpass",
    ] {
        assert_eq!(address(text).to_string(), text);
        assert_eq!(address(&address(text).to_string()), address(text));
    }
}

#[test]
fn omitted_parts_have_defaults() {
    let short = address("postgresql://u@h/d");
    assert_eq!(short.to_string(), "postgres://u@h:5432/d");
    assert_eq!(short, address("postgres://u@h:5432/d?schema=chandler&connect_timeout=3&pool=16"));
    assert_eq!(short.schema(Schema::Candles), "chandler_candles");
    assert_eq!(short.schema(Schema::Accounts), "chandler_accounts");
    assert_eq!(short.connect_timeout(), Duration::from_secs(3));
    assert_eq!(short.target, Target::ReadWrite);
    assert_eq!(short.password, PasswordFrom::Environment);
}

#[test]
fn a_unix_socket_can_be_written_in_two_ways() {
    let one = address("postgres://u@%2Frun%2Fpostgresql/d");
    assert_eq!(one, address("postgres://u@/d?host=/run/postgresql"));
    assert_eq!(
        address("postgres://u@:5433/d?host=/run/postgresql"),
        address("postgres://u@%2Frun%2Fpostgresql:5433/d")
    );
    assert!(refused("postgres://u@h/d?host=/run/postgresql").contains("names a host already"));
    assert!(refused("postgres://u@/d?host=db.example").contains("directory of one Unix socket"));
}

#[test]
fn a_password_in_an_address_is_refused_and_not_shown() {
    for text in [
        "postgres://u:hunter2@h/d",
        "postgres://u:@h/d",
        "postgres://u:hun@ter2@h/d",
        "postgres://u@h/d?password=hunter2",
        "postgres://u@h/d?pass%77ord=hunter2",
    ] {
        let actual = refused(text);
        assert!(actual.contains("PGPASSWORD") && actual.contains("passfile="), "{actual}");
        assert!(actual.contains("password_file=") && !actual.contains("ter2"), "{actual}");
    }
    // These passwords contain characters that end the part of the address that is searched for a
    // password.
    for text in ["postgres://u:hun/ter2@h/d", "postgres://u:hun?ter2@h/d", "postgres://u:hun#ter2@h/d"] {
        let actual = refused(text);
        assert!(!actual.contains("hun") && !actual.contains("ter2"), "{actual}");
    }
}

#[test]
fn each_invalid_part_is_reported_with_advice() {
    for (text, words) in [
        ("mysql://u@h/d", "begins with another word: write postgres://USER@HOST:PORT/DATABASE"),
        ("postgres:/u@h/d", "begins with another word"),
        ("Postgres://u@h/d", "begins with another word"),
        ("postgres://h/d", "has no user: write postgres://USER"),
        ("postgres://@h/d", "has no user"),
        ("postgres://u@/d", "has no host"),
        ("postgres://u@one,,two/d", "has no host"),
        ("postgres://u@:5432/d", "has no host"),
        ("postgres://u@a b/d", "\"a b\" is not the name of a host"),
        ("postgres://u@fd00::7/d", "an IPv6 address in brackets"),
        ("postgres://u@[fd00::7/d", "an IPv6 address in brackets"),
        ("postgres://u@[10.0.0.1]/d", "an IPv6 address in brackets"),
        ("postgres://u@[::1]5432/d", "an IPv6 address in brackets"),
        ("postgres://u@h:0/d", "\"0\" is not a port: write a number from 1 to 65535"),
        ("postgres://u@h:65536/d", "\"65536\" is not a port"),
        ("postgres://u@h:+5/d", "\"+5\" is not a port"),
        ("postgres://u@h:/d", "\"\" is not a port"),
        ("postgres://u@a,b,c,d,e,f,g,h,i/d", "names 9 hosts: name at most 8"),
        ("postgres://u@h", "has no database: write"),
        ("postgres://u@h/", "has no database"),
        ("postgres://u@h?pool=5", "has no database"),
        ("postgres://u@h/a/b", "\"a/b\" is not the name of a database"),
        ("postgres://u%0A@h/d", "is not the name of a user"),
        ("postgres://u%2@h/d", "the user has a percent sign"),
        ("postgres://u@h%zz/d", "the host has a percent sign"),
        (
            "postgres://u@h/d%",
            "the database has a percent sign without two hexadecimal digits after it: write %25",
        ),
        ("postgres://u@h/%FF", "the database is not UTF-8"),
        ("postgres://u@h/d%00", "the database is not UTF-8"),
        ("postgres://u@h/d?pool=%4", "the value of a parameter has a percent sign"),
        ("postgres://u@h/d#x", "write %23"),
    ] {
        let actual = refused(text);
        assert!(actual.contains(words), "{text}: {actual}");
    }
    let long = format!("postgres://u@h/{}", "d".repeat(64));
    assert!(refused(&long).contains("at most 63 bytes"));
    assert!(refused(&"d".repeat(5_000)).contains("begins with another word"));
    assert!(refused(&format!("postgres://{}", "d".repeat(5_000))).contains("longer than 4096 bytes"));
}

#[test]
fn each_invalid_parameter_is_reported_with_advice() {
    for (query, words) in [
        ("sslcert=x", "\"sslcert\" of the address is unknown: known are target_session_attrs, sslmode"),
        ("=x", "\"\" of the address is unknown"),
        ("pool=5&pool=5", "`pool` twice"),
        ("sslmode=prefer", "not verified: write verify-full, or disable"),
        ("sslmode=allow", "not verified: write verify-full"),
        ("sslmode=verify-ca", "not verified: write verify-full"),
        ("sslmode=on", "`sslmode` of the address cannot be \"on\": write verify-full or disable"),
        ("sslmode", "cannot be \"\": write verify-full or disable"),
        ("sslrootcert=", "write the path of a file"),
        ("target_session_attrs=prefer-standby", "write read-write, primary"),
        ("schema=Own", "letters from a to z"),
        ("schema=1own", "a letter first"),
        ("schema=pg_own", "not pg_"),
        ("schema=own%22", "letters from a to z"),
        ("connect_timeout=0", "seconds, from 1 to 60"),
        ("connect_timeout=1.5", "seconds, from 1 to 60"),
        ("application_name=a%07", "characters of ASCII"),
        ("pool=0", "from 4 to 64"),
        ("pool=3", "from 4 to 64"),
        ("pool=65", "from 4 to 64"),
        ("passfile=", "write the path of a file"),
        ("passfile=a&password_file=b", "leave out one of the two"),
    ] {
        let actual = refused(&format!("postgres://u@h/d?{query}"));
        assert!(actual.contains(words), "{query}: {actual}");
    }
}

#[test]
fn tls_is_verified_for_remote_hosts() {
    let tls = |text: &str| {
        let address = address(text);
        address.hosts.iter().map(|host| address.speaks_tls(host)).collect::<Vec<_>>()
    };
    assert_eq!(tls("postgres://u@db.example,127.0.0.1,localhost,[::1]/d"), [true, false, false, false]);
    assert_eq!(tls("postgres://u@%2Frun/d"), [false]);
    assert_eq!(tls("postgres://u@127.0.0.1/d?sslmode=require"), [true]);
    assert_eq!(tls("postgres://u@127.0.0.1/d?sslrootcert=/ca.pem"), [true]);
    assert_eq!(tls("postgres://u@db.example/d?sslrootcert=system"), [true]);
    assert_eq!(tls("postgres://u@localhost/d?sslrootcert=system"), [true]);
    assert_eq!(tls("postgres://u@localhost/d?sslrootcert=system&sslmode=disable"), [false]);
    let shown = address("postgres://u@localhost/d?sslrootcert=system");
    assert_eq!(address(&shown.to_string()), shown);
    assert_eq!(tls("postgres://u@db.example/d?sslmode=disable"), [false]);
    assert!(refused("postgres://u@%2Frun/d?sslmode=verify-full").contains("no TLS over a Unix socket"));
}

#[test]
fn addresses_and_directories_are_distinguished() {
    for text in
        ["postgres://", "postgresql://u@h/d", "postgres:u", "PostgreSQL://h", "postgresql+ssl://u@h/d"]
    {
        assert!(Address::is_meant(text), "{text}");
    }
    for text in ["/srv/store", "postgres", "store/postgres:/x", "mysql://u@h/d", "./postgres://"] {
        assert!(!Address::is_meant(text), "{text}");
    }
}
