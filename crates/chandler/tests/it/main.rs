//! The executable as its users meet it: arguments in, text and exit codes out, a real store in a temporary folder.

mod account;
mod audit;
mod backup;
mod bad_input;
mod cli;
mod demo;
mod doctor;
mod house;
mod import;
mod kline;
mod levels;
mod login;
mod manners;
mod people;
mod reach;
mod remote;
mod reports;
mod serve;
mod world;
