/**
 * Which test files start first. Vitest starts large files first where it has no durations of an earlier run, as in CI. Here
 * that is wrong for the longest of all: they are a few lines that call a suite, and would run alone at the end.
 */
import { relative, resolve } from "node:path"
import { BaseSequencer, type TestSpecification } from "vitest/node"

const root = resolve(import.meta.dirname, "..")

/** By the beginning of their paths, the longest first. */
const LONGEST = [
  "tests/crash/kill",
  "tests/postgres/kill",
  "tests/restate/kill",
  "tests/restate/chaos",
  "tests/bench/",
  "tests/packages/",
  "tests/fleet/schedules",
  "tests/postgres/schedules",
  "tests/hostile/",
  "tests/studio/",
  "tests/fleet/",
  "tests/postgres/",
  "packages/store-postgres/src/postgres-store",
  "packages/store-sqlite/src/sqlite-store",
  "packages/store-sqlite/src/encrypted-store",
  "packages/retrieval/src/sql/",
  "packages/retrieval/src/graph/ladybug",
  "packages/engine/src/patterns/research/crash",
  "packages/engine/src/patterns/goal/crash",
  "packages/mcp/src/client/server-trouble",
  "packages/mcp/src/server/conformance",
  "packages/engine/src/document/parse-document",
  "packages/engine/src/definitions/mistakes",
  "packages/superstep/src/command/commands/",
  "packages/superstep/src/diagrams/svg",
]

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const projects = [...new Set(sorted.map(({ project }) => project))]
    return projects.flatMap((project) =>
      sorted.filter((file) => file.project === project).sort((a, b) => rank(a) - rank(b)),
    )
  }
}

function rank({ moduleId }: TestSpecification): number {
  const path = relative(root, moduleId).replaceAll("\\", "/")
  const index = LONGEST.findIndex((start) => path.startsWith(start))
  return index < 0 ? LONGEST.length : index
}
