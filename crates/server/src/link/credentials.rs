/// A decoded sign-in request, with a one-time password or a session.
#[derive(Clone)]
pub(super) enum Credentials {
    Otp(String),
    Session(String),
}
