//! Functions as WebAssembly modules of a directory: WASI commands that filter standard input to standard output.
//!
//! A module sees no files, no environment, no network. Fuel, epochs and a bound on memory end what takes too much.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use wasmtime::{Config, Engine, Linker, Module, Store, StoreLimits, StoreLimitsBuilder, Trap};
use wasmtime_wasi::p1::{WasiP1Ctx, add_to_linker_sync};
use wasmtime_wasi::p2::pipe::{MemoryInputPipe, MemoryOutputPipe};
use wasmtime_wasi::{I32Exit, WasiCtxBuilder};

use super::{FunctionCall, FunctionOutcome, Limits, RunError, Runner, outcome};
use crate::{short_name, wire};

/// How often running modules are asked whether their time is over.
const TICK: Duration = Duration::from_millis(10);
/// How much of an error stream is kept.
const STDERR: usize = 64 << 10;

/// Modules that were compiled, by file and when it was written.
type Compiled = BTreeMap<(PathBuf, Option<SystemTime>), Module>;

/// The modules of a directory: the image `example.com/fn/my-fn:v1` is `my-fn.wasm` there.
#[derive(Clone)]
pub struct Wasm {
    directory: PathBuf,
    engine: Engine,
    compiled: Arc<Mutex<Compiled>>,
}

struct State {
    wasi: WasiP1Ctx,
    limits: StoreLimits,
}

impl Wasm {
    /// The modules of this directory.
    ///
    /// # Errors
    /// The engine cannot be made on this machine.
    pub fn new(directory: &Path) -> Result<Self, RunError> {
        let mut config = Config::new();
        config.consume_fuel(true).epoch_interruption(true);
        let engine = Engine::new(&config).map_err(|error| RunError::Start {
            function: directory.display().to_string(),
            why: error.to_string(),
        })?;
        let weak = engine.weak();
        std::thread::spawn(move || {
            while let Some(engine) = weak.upgrade() {
                engine.increment_epoch();
                drop(engine);
                std::thread::sleep(TICK);
            }
        });
        Ok(Self {
            directory: directory.to_owned(),
            engine,
            compiled: Arc::default(),
        })
    }

    /// Whether there is a module for an image.
    pub fn has(&self, image: &str) -> bool {
        self.path(image).is_some_and(|path| path.is_file())
    }

    fn path(&self, image: &str) -> Option<PathBuf> {
        let name = short_name(image);
        let plain = !name.is_empty() && !name.starts_with('.');
        plain.then(|| self.directory.join(format!("{name}.wasm")))
    }

    fn module(&self, path: &Path) -> Result<Module, wasmtime::Error> {
        let written = std::fs::metadata(path)
            .and_then(|meta| meta.modified())
            .ok();
        let key = (path.to_owned(), written);
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = compiled.get(&key) {
            return Ok(module.clone());
        }
        let module = Module::from_file(&self.engine, path)?;
        compiled.retain(|(known, _), _| known != path);
        compiled.insert(key, module.clone());
        Ok(module)
    }

    fn call(
        &self,
        image: &str,
        call: &FunctionCall,
        limits: &Limits,
    ) -> Result<FunctionOutcome, RunError> {
        let start = |error: wasmtime::Error| RunError::Start {
            function: image.to_owned(),
            why: format!("{error:#}"),
        };
        let limit = |limit: String| RunError::Limit {
            function: image.to_owned(),
            limit,
        };
        let path = self.path(image).unwrap_or_default();
        let module = self.module(&path).map_err(start)?;
        let stdout = MemoryOutputPipe::new(limits.output);
        let stderr = MemoryOutputPipe::new(STDERR);
        let mut linker: Linker<State> = Linker::new(&self.engine);
        add_to_linker_sync(&mut linker, |state: &mut State| &mut state.wasi).map_err(start)?;
        let mut store = Store::new(
            &self.engine,
            State {
                wasi: WasiCtxBuilder::new()
                    .stdin(MemoryInputPipe::new(wire::request(call)))
                    .stdout(stdout.clone())
                    .stderr(stderr.clone())
                    .build_p1(),
                limits: StoreLimitsBuilder::new()
                    .memory_size(limits.memory)
                    .trap_on_grow_failure(true)
                    .build(),
            },
        );
        store.limiter(|state| &mut state.limits);
        store.set_fuel(limits.steps).map_err(start)?;
        let ticks = limits.time.as_millis().div_ceil(TICK.as_millis());
        store.set_epoch_deadline(u64::try_from(ticks).unwrap_or(u64::MAX).max(1));
        let instance = linker.instantiate(&mut store, &module).map_err(start)?;
        let main = instance
            .get_typed_func::<(), ()>(&mut store, "_start")
            .map_err(start)?;
        let ended = main.call(&mut store, ());
        let told = String::from_utf8_lossy(&stderr.contents()).into_owned();
        let printed = stdout.contents();
        if printed.len() >= limits.output {
            return Err(limit(format!("{} bytes of output", limits.output)));
        }
        let code = match ended {
            Ok(()) => 0,
            Err(error) => match (
                error.downcast_ref::<I32Exit>(),
                error.downcast_ref::<Trap>(),
            ) {
                (Some(exit), _) => exit.0,
                (_, Some(Trap::OutOfFuel)) => return Err(limit(format!("{} steps", limits.steps))),
                (_, Some(Trap::Interrupt)) => {
                    return Err(limit(format!("{} s", limits.time.as_secs_f64())));
                }
                _ if format!("{error:#}").contains("forcing trap when growing memory") => {
                    return Err(limit(format!("{} MiB of memory", limits.memory >> 20)));
                }
                _ => {
                    return Ok(FunctionOutcome {
                        items: call.items.clone(),
                        results: Vec::new(),
                        stderr: format!("{told}{error:#}\n"),
                        exit_code: 134,
                    });
                }
            },
        };
        outcome(image, call, &String::from_utf8_lossy(&printed), told, code)
    }
}

#[async_trait]
impl Runner for Wasm {
    async fn run(&self, call: FunctionCall, limits: &Limits) -> Result<FunctionOutcome, RunError> {
        let image = call.function.image.clone().unwrap_or_default();
        let (this, limits, name) = (self.clone(), *limits, image.clone());
        let work = tokio::task::spawn_blocking(move || this.call(&name, &call, &limits));
        work.await.unwrap_or_else(|error| {
            Err(RunError::Start {
                function: image,
                why: error.to_string(),
            })
        })
    }
}
