/**
 * Loads modules on first use. Loading takes real time, which a simulated run does not have: while a module loads, code that
 * waits for it is not stuck.
 */
const loading = new Set<Promise<unknown>>()

/** `load` is `() => import("…")`. */
export function loadModule<Module>(load: () => Promise<Module>): Promise<Module> {
  const module = load()
  const done = () => loading.delete(module)
  loading.add(module)
  module.then(done, done)
  return module
}

/** Resolves when no module is being loaded; undefined if none is. */
export function modulesLoaded(): Promise<unknown> | undefined {
  return loading.size === 0 ? undefined : Promise.allSettled(loading)
}
