//! The controller of this node: one thread that decides, writes the metadata log and publishes what it says.

mod auto_create;
mod host;
mod open;
mod settings;

pub(crate) use auto_create::may_be_asked_for;
pub(crate) use host::Controller;
pub(crate) use host::ControllerError;
pub(crate) use open::OpenController;
pub(crate) use open::OpenControllerError;

#[cfg(test)]
mod tests;
