/** For tests of steps files: loads one, with a model that is scripted by agent, and runs it. */
import { type AgentOptions, agent } from "../../agents/index.ts"
import type { Workflow } from "../../builder/index.ts"
import { type Diagnostic, parseDocument, Report, type SourceRange } from "../../document/index.ts"
import { type Model, type Script, type ScriptedModel, scriptedModel } from "../../models/index.ts"
import { agentFunctions } from "../agents/index.ts"
import { DefinitionPaths } from "../definition.ts"
import { DocumentReport } from "../dialect-input.ts"
import { eject, link, type Plan, PlanWriter, type Ref } from "../plan/index.ts"
import { planSteps, stepsFunctions } from "./index.ts"

interface LoadedSteps {
  readonly workflow: Workflow<string, unknown>
  readonly diagnostics: readonly Diagnostic[]
  readonly plan: Plan
  readonly code: string
}

interface LoadSteps {
  readonly model?: Model | undefined
  readonly variables?: Record<string, string> | undefined
  readonly files?: Record<string, string> | undefined
}

const functions = { ...agentFunctions, ...stepsFunctions }

export function tryLoad(
  text: string,
  options: LoadSteps = {},
): Partial<LoadedSteps> & Pick<LoadedSteps, "diagnostics"> {
  const report = new Report()
  const writer = new PlanWriter(Object.keys(functions))
  const compile = (source: string, file: string): Ref | undefined => {
    const { document, diagnostics } = parseDocument(source, file)
    report.add(diagnostics)
    if (document === undefined) return undefined
    const include = (other: string, place: SourceRange) => {
      const found = options.files?.[other]
      if (found === undefined) report.error("FILE_UNREADABLE", `no ${other}`, place)
      return found === undefined ? undefined : compile(found, other)
    }
    const read = () => undefined
    const paths = new DefinitionPaths("test.yaml", report)
    const { variables } = options
    const input = { writer, options: { variables }, paths, read, include }
    return planSteps({ ...input, report: new DocumentReport(document, report) })
  }
  const ref = compile(text, "test.yaml")
  const { diagnostics } = report
  if (ref === undefined || report.hasErrors) return { diagnostics }
  const plan = writer.plan(ref)
  const { model } = options
  const make = (settings: AgentOptions) =>
    agent(model === undefined ? settings : { ...settings, model, stream: false })
  const known = { ...functions, agent: { from: "superstep/agents", make } }
  const { workflow } = link(plan, known)
  return { workflow: workflow as Workflow<string, unknown>, diagnostics, plan, code: eject(plan, functions) }
}

export function load(text: string, options: LoadSteps = {}): LoadedSteps {
  const loaded = tryLoad(text, options)
  const problems = loaded.diagnostics.filter(({ severity }) => severity === "error")
  if (problems.length > 0) throw new Error(problems.map(shown).join("\n"))
  return loaded as LoadedSteps
}

/** `code line:column message`, abbreviated. */
function shown({ code, message, place, suggestion }: Diagnostic): string {
  const at = place === undefined ? "" : ` ${place.line}:${place.column}`
  return `${code}${at} ${message}${suggestion === undefined ? "" : ` (${suggestion}?)`}`
}

export function problemsOf(text: string, options: LoadSteps = {}): string[] {
  return tryLoad(text, options).diagnostics.map(shown)
}

/** A file with one agent per name, all on the offline model, and this workflow. */
export function file(agents: readonly string[], workflow: string): string {
  const list = agents.map((name) => `  ${name}: { model: offline }`).join("\n")
  return `agents:\n${list}\nworkflow:\n${workflow.replace(/^\n+/, "").replace(/\s+$/, "")}\n`
}

/** Runs it with a script of replies by agent. Returns the calls in order. */
export async function play(text: string, script: Script, prompt = "Go", options: LoadSteps = {}) {
  const model = scriptedModel(script)
  const { workflow } = load(text, { ...options, model })
  const result = await workflow.run(prompt).result
  return { ...result, ...asked(model) }
}

export function asked(model: ScriptedModel) {
  const contentsOf = (role: string) =>
    model.calls.map(({ prompt }) =>
      prompt
        .filter((message) => message.role === role)
        .map(({ content }) => (typeof content === "string" ? content : textOf(content)))
        .join("\n"),
    )
  return {
    agents: model.calls.map(({ agent: name }) => name),
    prompts: contentsOf("user"),
    systems: contentsOf("system"),
  }
}

function textOf(content: readonly { readonly type: string }[]): string {
  return content.map((part) => ("text" in part ? String(part.text) : "")).join("")
}

/** A list of steps in the state after the run. */
export function outputs(state: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const records = (state.steps ?? []) as readonly { id: string; output?: unknown }[]
  return Object.fromEntries(records.filter((one) => "output" in one).map(({ id, output }) => [id, output]))
}

/** The documented example of a loop: its condition comes before the step that it needs. */
export const LOOP = `agents:
  generator: { model: offline }
  translator: { model: offline }
  publisher: { model: offline }
  qa_agent:
    model: offline
    structured_output:
      name: verdict
      schema: { type: object, properties: { is_approved: { type: boolean } }, required: [is_approved] }
workflow:
  - id: gen
    type: agent
    name: generator
  - id: trans
    type: agent
    name: translator
  - id: qa_check
    type: condition
    name: qa_check
    condition: "{{ $steps.qa.output.is_approved }}"
    true:
      - type: agent
        name: publisher
    false:
      - id: back_to_trans
        type: agent
        name: translator
  - id: qa
    type: agent
    name: qa_agent
`
