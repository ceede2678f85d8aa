//! Long connections from outside: signing in, what is not the protocol, and too much at once. What happens as time
//! passes is tested beside the code, where the clock can stand still.

mod broken;
mod gateway;
mod load;
mod session;
