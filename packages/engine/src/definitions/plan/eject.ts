/** Prints a plan as TypeScript: the same calls, with the builder's, in a module that exports the workflow. */
import type { PlanFunctions } from "./functions.ts"
import {
  type Arg,
  Call,
  callWith,
  Later,
  type Plan,
  type PlannedCall,
  type PlannedWorkflow,
  Ref,
} from "./plan.ts"
import { printImport, printMethod, printStatement } from "./print-code.ts"

export interface EjectOptions {
  /** Said at the top: where it came from. */
  readonly note?: string | undefined
}

export function eject(plan: Plan, functions: PlanFunctions, options: EjectOptions = {}): string {
  const imports = new Map<string, Set<string>>()
  for (const value of plan.values) {
    for (const name of calledBy(argsOf(value))) {
      const { from } = functions[name] ?? { from: "superstep" }
      imports.set(from, (imports.get(from) ?? new Set()).add(name))
    }
  }
  const lines = [...imports]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([from, names]) => printImport([...names].sort(), from))
  const body = plan.values.map((value) => `${printValue(value, value.name === plan.main)}\n`)
  const note = options.note === undefined ? [] : [`// ${options.note.replace(/[\r\n]+/g, " ")}`]
  return `${[...note, ...lines, "", ...body, `export default ${plan.main}`].join("\n")}\n`
}

function printValue(value: PlannedCall | PlannedWorkflow, isMain: boolean): string {
  const { name } = value
  if ("call" in value) return printStatement(`const ${name} = `, value.call.make, value.call.args)
  const { make, args } = workflowCall(value)
  const head = printStatement(`${isMain ? "export " : ""}const ${name} = `, make, args)
  const chain = value.wires.map(({ method, args: given }) => printMethod(method, withoutEnd(given)))
  return [head, ...chain, printMethod("build", [])].join("\n")
}

function workflowCall({ title, options }: PlannedWorkflow): Call {
  return callWith("workflow", [title], options)
}

/** Arguments at the end that are not given. */
function withoutEnd(args: readonly Arg[]): readonly Arg[] {
  return args.slice(0, args.findLastIndex((arg) => arg !== undefined) + 1)
}

function argsOf(value: PlannedCall | PlannedWorkflow): readonly Arg[] {
  return "call" in value ? [value.call] : [workflowCall(value), ...value.wires.flatMap(({ args }) => args)]
}

/** The functions that are called for these. */
function* calledBy(arg: Arg): Generator<string> {
  if (typeof arg !== "object" || arg === null || arg instanceof Ref) return
  if (arg instanceof Call) {
    yield arg.make
    yield* calledBy(arg.args)
  } else if (arg instanceof Later) yield* calledBy(arg.arg)
  else for (const one of Object.values(arg)) yield* calledBy(one as Arg)
}
