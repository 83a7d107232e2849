/**
 * Modules that are loaded with their first use. Loading takes real time, which a simulated run does not have: while one
 * is under way, what waits for it is not stuck.
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

/** Resolves when no module is being loaded; undefined when that is so already. */
export function modulesLoaded(): Promise<unknown> | undefined {
  return loading.size === 0 ? undefined : Promise.allSettled(loading)
}
