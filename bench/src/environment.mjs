// Where it is measured: what every measured process has in its environment, and what a result says of it.
import { existsSync, readFileSync } from "node:fs"
import { cpus, loadavg, totalmem } from "node:os"
import { fileURLToPath } from "node:url"

/**
 * For database files: on the disk that this package is on, as /tmp is memory on many machines. Each program has a
 * folder of its own, which its processes share.
 */
export const dataFolder =
  process.env.BENCH_DATA ?? fileURLToPath(new URL(`../.data/${process.pid}/`, import.meta.url))

/** The peers' tracing and telemetry are off. */
export const measuredEnvironment = {
  ...process.env,
  BENCH_DATA: dataFolder,
  NODE_ENV: "production",
  LANGCHAIN_TRACING_V2: "false",
  LANGSMITH_TRACING: "false",
  MASTRA_TELEMETRY_DISABLED: "1",
}

function manifestUrl(name) {
  return new URL(`../node_modules/${name}/package.json`, import.meta.url)
}

/** An optional dependency may have failed to install. */
export function isInstalled(name) {
  return existsSync(manifestUrl(name))
}

/** What is installed and on which machine, so that a result says what it compares. */
export function describeEnvironment(packages) {
  const version = (name) => JSON.parse(readFileSync(manifestUrl(name), "utf8")).version
  const versions = packages.filter(isInstalled).map((name) => [name, version(name)])
  return {
    node: process.versions.node,
    ...Object.fromEntries(versions),
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 1e9),
    // What else the machine did in the minute before.
    loadBefore: Number(loadavg()[0].toFixed(1)),
  }
}

export function environmentText(environment) {
  return Object.entries(environment)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ")
}
