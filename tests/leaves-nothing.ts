/**
 * For test files that share a process: a file that leaves the process changed fails itself, instead of making whichever file
 * runs after it fail.
 */
import { afterAll, expect, vi } from "vitest"
import { registeredProviders } from "../packages/engine/src/models/named-models.ts"
import { registeredPrices } from "../packages/engine/src/models/prices.ts"
import { currentTelemetry } from "../packages/engine/src/runtime/ports/telemetry.ts"

const before = processState()

afterAll(() => {
  const after = processState()
  // Names only: values of environment variables may be secret.
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => !Object.is(before.get(name), after.get(name)),
  )
  expect(changed, "what this file leaves changed in the process").toEqual([])
})

/** By name, each compared by identity. */
function processState(): ReadonlyMap<string, unknown> {
  const state = new Map<string, unknown>([
    ["working directory", process.cwd()],
    ["umask", process.umask()],
    ["exit code", process.exitCode],
    ["fake timers", vi.isFakeTimers()],
    ["registered prices", registeredPrices().length],
    ["telemetry", currentTelemetry()],
  ])
  const add = (owner: string, values: Iterable<readonly [string, unknown]>) => {
    for (const [name, value] of values) state.set(`${owner} ${name}`, value)
  }
  add("environment variable", Object.entries(process.env))
  add("provider", registeredProviders())
  add("console", Object.entries(console))
  add("JSON", Object.entries({ parse: JSON.parse, stringify: JSON.stringify }))
  add("global", Object.entries({ fetch, Date, setTimeout, setInterval, setImmediate, console }))
  const { emitWarning, exit, getBuiltinModule, kill } = process
  add("process", Object.entries({ emitWarning, exit, getBuiltinModule, kill }))
  const events = ["uncaughtException", "unhandledRejection", "warning"]
  add(
    "listeners to",
    events.map((name) => [name, process.listenerCount(name)]),
  )
  return state
}
