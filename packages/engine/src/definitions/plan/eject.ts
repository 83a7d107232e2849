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
  type PlanType,
  Ref,
} from "./plan.ts"
import { printImport, printMethod, printStatement } from "./print-code.ts"

export interface EjectOptions {
  /** Said at the top: where it came from. */
  readonly note?: string | undefined
}

export function eject(plan: Plan, functions: PlanFunctions, options: EjectOptions = {}): string {
  const imports = new Map<string, Set<string>>()
  const add = (name: string, from: string) => imports.set(from, (imports.get(from) ?? new Set()).add(name))
  for (const value of plan.values) {
    for (const used of usedBy(argsOf(value))) {
      if (typeof used === "string") add(used, functions[used]?.from ?? "superstep")
      else add(`type ${used.name}`, used.from)
    }
  }
  const lines = [...imports]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([from, names]) => printImport([...names].sort(), from))
  const body = plan.values.map((value) => `${printValue(value, value.name === plan.main)}\n`)
  const note = options.note === undefined ? [] : [`// ${options.note.replace(/[\r\n\u2028\u2029]+/g, " ")}`]
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

/** The functions that are called for these, and the types that are named. */
function* usedBy(arg: Arg): Generator<string | PlanType> {
  if (typeof arg !== "object" || arg === null || arg instanceof Ref) return
  if (arg instanceof Call) {
    yield arg.make
    yield* usedBy(arg.args)
  } else if (arg instanceof Later) {
    if (arg.of !== undefined) yield arg.of
    yield* usedBy(arg.arg)
  } else for (const one of Object.values(arg)) yield* usedBy(one as Arg)
}
