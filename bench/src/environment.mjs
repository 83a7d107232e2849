// Where it is measured: what every measured process has in its environment, and what a result says of it.
import { existsSync, readFileSync } from "node:fs"
import { cpus } from "node:os"

/** The peers' tracing and telemetry are off. */
export const measuredEnvironment = {
  ...process.env,
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
  }
}

export function environmentText(environment) {
  return Object.entries(environment)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ")
}
