/// A decoded sign-in: by one-time password or by session.
#[derive(Clone)]
pub(super) enum Credentials {
    Otp(String),
    Session(String),
}
