/** Do the templates of a file name what is there? */

import { isSecretName } from "../../text/index.ts"
import type { AgentData } from "../agents/index.ts"
import { type Document, nearest, type Path, type Report } from "../document/index.ts"
import { ExpressionError, type Reference } from "../expressions/index.ts"
import { secretNotShown } from "../secret-variables.ts"
import type { Layout } from "./layout.ts"
import { everyStep, hasOutput, type Step } from "./step.ts"
import { ROOTS } from "./step-scope.ts"
import { asTemplate, hasTemplate, readText, type StepText, stepTexts } from "./step-texts.ts"

interface Checking {
  readonly document: Document
  readonly report: Report
  readonly steps: readonly Step[]
  readonly layout: Layout
  readonly agents: Readonly<Record<string, AgentData>>
  readonly vars: Readonly<Record<string, unknown>>
  /** Names of variables whose values are not shown. */
  readonly secrets: readonly string[]
}

/** With its steps by what they are asked for by. */
interface Known extends Checking {
  readonly byPath: ReadonlyMap<string, Step>
  /** Inside of blocks, the first of a name. */
  readonly inside: ReadonlyMap<string, Step>
  /** Outside of blocks. */
  readonly ids: readonly string[]
}

export function checkReferences(given: Checking): void {
  const all = [...everyStep(given.steps)]
  const checking: Known = {
    ...given,
    byPath: new Map(all.map((step) => [step.path, step])),
    inside: new Map(
      all
        .filter(isInside)
        .reverse()
        .map((step) => [step.id, step]),
    ),
    ids: all.filter((step) => !isInside(step)).map(({ id }) => id),
  }
  const users = new Map<string, string[]>()
  for (const step of all) {
    for (const text of stepTexts(step)) checkText(checking, text, [step.path])
    if (step.type !== "agent") continue
    const paths = users.get(step.agent) ?? []
    paths.push(step.path)
    users.set(step.agent, paths)
  }
  for (const [name, { instruction }] of Object.entries(given.agents)) {
    if (instruction === undefined || !hasTemplate(instruction)) continue
    const at = ["agents", name, "instruction"]
    const read = readText(instruction, asTemplate)
    checkText(checking, { at, read }, users.get(name) ?? [""])
  }
}

/** A text that several steps show has to make sense in one of them. */
function checkText(
  checking: Known,
  { at, read }: Pick<StepText, "at" | "read">,
  paths: readonly string[],
): void {
  const { document, report } = checking
  if (read instanceof ExpressionError) {
    const place = document.place(at, { from: read.start, to: read.end })
    report.error("EXPRESSION_INVALID", read.message, place)
    return
  }
  for (const reference of read.references) {
    warnOfSecret(checking, at, reference)
    const problems = paths.map((path) => problemOf(checking, reference, path))
    const [problem] = problems
    if (problem === undefined || problems.includes(undefined)) continue
    const place = document.place(at, { from: reference.start, to: reference.end })
    report[problem.severity ?? "error"](problem.code, problem.message, place, problem.suggestion)
  }
}

/** Everywhere but in the arguments of a tool there is a reference instead: a condition would compare with that. */
function warnOfSecret({ document, report, secrets }: Known, at: Path, reference: Reference): void {
  const { root, path, start, end } = reference
  const [name = ""] = path.map(String)
  const isSecret = root === "vars" ? secrets.includes(name) : root === "env" && isSecretName(name)
  if (!isSecret || at.includes("args")) return
  const message = secretNotShown(`$${root}.${name}`, root === "env" ? `env.${name}` : name)
  report.warning("SECRET_NOT_SHOWN", message, document.place(at, { from: start, to: end }))
}

interface Problem {
  readonly code: string
  readonly message: string
  readonly suggestion?: string | undefined
  readonly severity?: "warning" | undefined
}

function problemOf(checking: Known, reference: Reference, from: string): Problem | undefined {
  const { root, path } = reference
  const [name] = path
  switch (root) {
    case "steps":
      return name === undefined ? undefined : stepProblem(checking, path, from)
    case "env":
      return name === undefined
        ? { code: "UNKNOWN_NAME", message: "Say which variable: $env.NAME." }
        : undefined
    case "vars": {
      if (name === undefined || Object.hasOwn(checking.vars, name)) return undefined
      if (checking.secrets.includes(String(name))) return undefined
      const message = `There is no variable "${name}". Give it a value: --set ${name}=…`
      return {
        code: "UNKNOWN_VARIABLE",
        message,
        suggestion: nearest(String(name), [...Object.keys(checking.vars), ...checking.secrets]),
      }
    }
    case "run":
      if (name === undefined || name === "id") return undefined
      return { code: "UNKNOWN_NAME", message: `$run has no "${name}"; it has id.`, suggestion: "id" }
    case "item":
    case "index":
      if (from.includes("*")) return undefined
      return { code: "UNKNOWN_NAME", message: `$${root} is there in the steps of a map, and not here.` }
    default: {
      if (ROOTS.some((one) => one === root)) return undefined
      const names = ROOTS.map((one) => `$${one}`)
      const found = nearest(`$${root}`, names)
      return {
        code: "UNKNOWN_NAME",
        message: `There is no $${root}; there are ${names.join(", ")}.`,
        suggestion: found,
      }
    }
  }
}

function stepProblem(checking: Known, path: Reference["path"], from: string): Problem | undefined {
  const [name = "", ...rest] = path.map(String)
  const found = checking.layout.resolve(name, from)
  if (found !== undefined) return insideProblem(checking, found, rest)
  const inside = checking.inside.get(name)
  const suggestion = inside === undefined ? nearest(name, checking.ids) : insideOf(inside.path)
  return { code: "UNKNOWN_STEP", message: `There is no step "${name}".`, suggestion }
}

/** `par/inner/x` as templates write it from outside. Of a map, all that can be seen from there is its items. */
function insideOf(path: string): string {
  const [seen = ""] = path.split("/*")
  return `$steps.${seen.split("/").join(".outputs.")}`
}

function insideProblem(checking: Known, path: string, rest: readonly string[]): Problem | undefined {
  const { layout } = checking
  const [field, key, ...more] = rest
  if (field === undefined) return undefined
  const place = layout.at(path)
  const isBlock = place?.kind === "block" || place?.kind === "map"
  const fields = isBlock ? ["output", "outputs", "order"] : ["output", "agent"]
  if (!fields.includes(field)) {
    const message = `Step "${path}" has no "${field}"; it has ${fields.join(", ")}.`
    return { code: "UNKNOWN_NAME", message, suggestion: nearest(field, fields) }
  }
  if (field === "output") return key === undefined ? undefined : outputProblem(checking, path, key)
  if (field !== "outputs" || key === undefined || place?.kind !== "block") return undefined
  if (place.children.includes(key)) return insideProblem(checking, `${path}/${key}`, more)
  if (isNumber(key)) return numberProblem(checking, path, place.children, Number(key), more)
  const message = `There is no step "${key}" in "${path}".`
  return { code: "UNKNOWN_STEP", message, suggestion: nearest(key, place.children) }
}

/** By order: which step that is shows when some of them have run; one of them at least has to fit. */
function numberProblem(
  checking: Known,
  path: string,
  children: readonly string[],
  key: number,
  more: readonly string[],
): Problem | undefined {
  const steps = children.map((id) => `${path}/${id}`).filter((one) => isOutput(checking.byPath.get(one)))
  if (key >= steps.length || key < -steps.length) {
    const message = `There is no output ${key} in "${path}"; it has ${steps.length}, counted from 0.`
    return { code: "UNKNOWN_STEP", message }
  }
  const problems = steps.map((one) => insideProblem(checking, one, more))
  return problems.includes(undefined) ? undefined : problems.at(key)
}

function isOutput(step: Step | undefined): boolean {
  return step !== undefined && hasOutput(step)
}

/** A path into the output: the agent should say what its answers look like. */
function outputProblem({ byPath, agents }: Known, path: string, key: string): Problem | undefined {
  const step = byPath.get(path)
  if (step === undefined) return undefined
  if (step.type === "condition") return withoutOutput(path)
  const data = step.type === "agent" ? agents[step.agent] : undefined
  if (data === undefined) return undefined
  const { structured_output } = data
  if (structured_output === undefined) {
    const message = `The agent of step "${path}" has no structured_output: "${key}" is there only if its answer happens to be JSON.`
    return { code: "OUTPUT_NOT_STRUCTURED", message, severity: "warning" }
  }
  const { properties } = structured_output.schema
  if (typeof properties !== "object" || properties === null || Object.hasOwn(properties, key))
    return undefined
  const names = Object.keys(properties)
  const message = `The structured_output of step "${path}" does not say "${key}"; it says ${names.join(", ")}.`
  return { code: "OUTPUT_UNKNOWN", message, suggestion: nearest(key, names), severity: "warning" }
}

function withoutOutput(path: string): Problem {
  return {
    code: "STEP_WITHOUT_OUTPUT",
    message: `Step "${path}" is a condition: it has no output.`,
    severity: "warning",
  }
}

function isInside({ path }: Step): boolean {
  return path.includes("/")
}

function isNumber(key: string): boolean {
  return /^-?[0-9]+$/.test(key)
}
