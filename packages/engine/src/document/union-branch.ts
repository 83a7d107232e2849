/**
 * A value fits no branch of a union: which branch was meant? The one that its discriminator names, else the one
 * it fits best. Reporting the problems of all branches would bury the one that matters.
 */
import type { z } from "zod"

type Issue = z.core.$ZodIssue

export type UnionFinding =
  /** One branch was meant: these are its problems. */
  | { readonly kind: "branch"; readonly issues: readonly Issue[] }
  /** No branch takes the value at this path: what they would take instead. */
  | {
      readonly kind: "misfit"
      readonly path: readonly PropertyKey[]
      readonly types: readonly string[]
      readonly values: readonly unknown[]
    }

export function judgeUnion(branches: readonly (readonly Issue[])[]): UnionFinding {
  const fitting = branches.filter((issues) => !issues.some((issue) => isMisfit(issue, 0)))
  if (fitting.length === 0) return { kind: "misfit", path: [], ...wantedAt(branches.flat(), []) }
  const [only] = fitting
  if (fitting.length === 1 && only !== undefined) return { kind: "branch", issues: only }

  // Fields in which every branch wants a value of its own tell the branches apart.
  const key = discriminatorOf(fitting)
  if (key !== undefined) return { kind: "misfit", path: [key], ...wantedAt(fitting.flat(), [key]) }
  return { kind: "branch", issues: best(fitting) }
}

/** Whether the issue says that the value at a path of this length is of another kind altogether. */
function isMisfit(issue: Issue, length: number): boolean {
  if (issue.path.length !== length) return false
  if (issue.code === "invalid_type" || issue.code === "invalid_value") return true
  return (
    issue.code === "invalid_union" &&
    issue.errors.length > 0 &&
    issue.errors.every((branch) => branch.some((inner) => isMisfit(inner, 0)))
  )
}

function discriminatorOf(branches: readonly (readonly Issue[])[]): PropertyKey | undefined {
  const [first = [], ...others] = branches.map((issues) => literalMisfits(issues))
  return first.find((key) => others.every((keys) => keys.includes(key)))
}

function literalMisfits(issues: readonly Issue[]): PropertyKey[] {
  return issues.flatMap(({ code, path }) => (code === "invalid_value" && path.length === 1 ? path : []))
}

/** Few wrong literals first: a branch whose `type` is another is not meant. Then few problems. */
function best(branches: readonly (readonly Issue[])[]): readonly Issue[] {
  const ranked = branches.map((issues) => ({
    issues,
    literals: literalMisfits(issues).length,
    count: countOf(issues),
  }))
  ranked.sort((a, b) => a.literals - b.literals || a.count - b.count)
  return ranked[0]?.issues ?? []
}

function countOf(issues: readonly Issue[]): number {
  let count = 0
  for (const issue of issues) {
    if (issue.code === "unrecognized_keys") count += issue.keys.length
    else if (issue.code === "invalid_union" && issue.errors.length > 0) {
      count += Math.min(...issue.errors.map(countOf))
    } else count++
  }
  return count
}

interface Wanted {
  readonly types: readonly string[]
  readonly values: readonly unknown[]
}

function wantedAt(issues: readonly Issue[], path: readonly PropertyKey[]): Wanted {
  const types: string[] = []
  const values: unknown[] = []
  for (const issue of issues) {
    if (issue.path.length !== path.length || issue.path.some((part, i) => part !== path[i])) continue
    if (issue.code === "invalid_type") types.push(issue.expected)
    else if (issue.code === "invalid_value") values.push(...issue.values)
    else if (issue.code === "invalid_union") {
      const inner = wantedAt(issue.errors.flat(), [])
      types.push(...inner.types)
      values.push(...inner.values)
    }
  }
  return { types, values }
}
