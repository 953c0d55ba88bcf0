//! Puts together what may run functions, as the command line says.

use std::path::Path;
use std::sync::Arc;

use functions::runtime::{Container, Exec, Remote, Runtimes, Shares};
use functions::{RunError, Schemas};

use crate::cli::local::RuntimeArgs;
use crate::exit::ExitFailure;

/// The runtimes that are enabled.
///
/// # Errors
/// A command line or an address that is none, or schemas that cannot be read.
pub(crate) fn of(args: &RuntimeArgs) -> Result<Runtimes, ExitFailure> {
    let failed = |error: RunError| ExitFailure::of("enable a runtime of functions", &error);
    let container = match &args.fn_runtime {
        Some(command) => Some(Container {
            pull: args.fn_pull.clone(),
            ..Container::new(command, &args.fn_runtime_flags).map_err(failed)?
        }),
        None => None,
    };
    let remote = args.fn_runner.as_deref().map(Remote::new).transpose();
    Ok(Runtimes {
        limits: args.limits(),
        shares: args
            .fn_processes
            .map_or_else(Shares::default, |n| Shares::new(n.get())),
        schemas: args
            .schemas
            .as_deref()
            .map(schemas)
            .transpose()?
            .map(Arc::new),
        // A script of somebody else gets a process of its own: this very program.
        isolated: std::env::current_exe().ok(),
        exec: args.allow_exec.then_some(Exec),
        #[cfg(feature = "wasm")]
        wasm: args
            .fn_wasm
            .as_deref()
            .map(functions::runtime::Wasm::new)
            .transpose()
            .map_err(failed)?,
        remote: remote.map_err(failed)?,
        container,
    })
}

/// Every schema below a directory.
fn schemas(directory: &Path) -> Result<Schemas, ExitFailure> {
    let mut schemas = Schemas::default();
    for (path, file) in &crate::folder::read(directory)? {
        let wanted = [".json", ".yaml", ".yml"]
            .iter()
            .any(|end| path.as_str().ends_with(end));
        let Some(text) = file.as_text().filter(|_| wanted) else {
            continue;
        };
        let added = schemas.add(path.as_str(), text);
        added.map_err(|error| {
            ExitFailure::of(
                &format!("read the schemas in {}", directory.display()),
                &error,
            )
        })?;
    }
    if schemas.is_empty() {
        return Err(ExitFailure::new(format!("{} holds no schema", directory.display())).hint(
            "give a directory with Kubernetes' api/openapi-spec/swagger.json, custom resource definitions or JSON schemas",
        ));
    }
    Ok(schemas)
}
