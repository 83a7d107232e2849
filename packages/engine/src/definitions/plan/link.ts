/** Makes the calls of a plan. */
import { type Workflow, type WorkflowBuilder, workflow } from "../../builder/index.ts"
import { SuperstepError } from "../../core/index.ts"
import {
  type Arg,
  Call,
  Later,
  type Plan,
  type PlanFunctions,
  type PlannedWorkflow,
  Ref,
  type Wire,
} from "./plan.ts"

export interface Linked {
  readonly workflow: Workflow<never, unknown>
  /** Every value by its name in the plan. */
  readonly values: ReadonlyMap<string, unknown>
}

export function link(plan: Plan, functions: PlanFunctions): Linked {
  const values = new Map<string, unknown>()
  const made = (arg: Arg): unknown => {
    if (arg instanceof Ref) return known(values, arg.name)
    if (arg instanceof Later) return () => made(arg.arg)
    if (arg instanceof Call) return callOf(arg)
    if (Array.isArray(arg)) return arg.map(made)
    if (typeof arg !== "object" || arg === null) return arg
    return Object.fromEntries(Object.entries(arg).map(([name, value]) => [name, made(value)]))
  }
  const callOf = ({ make, args }: Call): unknown => {
    const found = Object.hasOwn(functions, make) ? functions[make] : undefined
    if (found === undefined) {
      const text = `The definition needs the function "${make}". Pass it in the option \`functions\`.`
      throw new SuperstepError("FUNCTION_MISSING", text)
    }
    return found.make(...(args.map(made) as never[]))
  }
  for (const value of plan.values) {
    values.set(value.name, "call" in value ? callOf(value.call) : build(value, made))
  }
  return { workflow: known(values, plan.main) as Linked["workflow"], values }
}

function build({ title, options, wires }: PlannedWorkflow, made: (arg: Arg) => unknown): Workflow {
  let builder = workflow(title, made(options) as object)
  for (const wire of wires) builder = wired(builder, wire, made)
  return builder.build() as Workflow
}

function wired(
  builder: WorkflowBuilder,
  { method, args }: Wire,
  made: (arg: Arg) => unknown,
): WorkflowBuilder {
  // The compiler of the dialect guarantees the types that the builder checks.
  const connect = builder[method] as (...args: unknown[]) => unknown
  return connect.apply(builder, args.map(made)) as WorkflowBuilder
}

function known(values: ReadonlyMap<string, unknown>, name: string): unknown {
  if (values.has(name)) return values.get(name)
  throw new SuperstepError("PLAN_INVALID", `The plan uses "${name}" before it is created.`)
}
