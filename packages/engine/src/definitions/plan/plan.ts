/**
 * A compiled definition: the calls that make its agents, tools and nodes, and those that wire them, as data. `link.ts` makes
 * the calls; `eject.ts` prints them as TypeScript that makes the same workflow. Nothing reads the definition again at run time.
 */
import type { Json } from "../../core/index.ts"

/** A value by its name. */
export class Ref {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/** A call of a function of the plan. */
export class Call {
  readonly make: string
  readonly args: readonly Arg[]

  constructor(make: string, args: readonly Arg[]) {
    this.make = make
    this.args = args
  }
}

/** Evaluated when a run needs it, so that agents can refer to each other. */
export class Later {
  readonly arg: Arg
  /** The type of its items. TypeScript cannot infer it for values that refer to each other. */
  readonly of: PlanType | undefined

  constructor(arg: Arg, of?: PlanType | undefined) {
    this.arg = arg
    this.of = of
  }
}

/** A type that ejected code names. */
export interface PlanType {
  readonly name: string
  /** The entry of the package, as users import it. */
  readonly from: string
}

export type Arg = Json | undefined | Ref | Call | Later | readonly Arg[] | ArgObject
export interface ArgObject {
  readonly [name: string]: Arg
}

/** Effectively unlimited: loops and visits have their own limits. */
export const SUPERSTEPS = 1_000_000

/** Methods of the builder that a definition may use. */
export type WireMethod =
  | "start"
  | "edge"
  | "fanOut"
  | "fanIn"
  | "switch"
  | "map"
  | "loop"
  | "onError"
  | "onLimit"
  | "output"

export interface Wire {
  readonly method: WireMethod
  readonly args: readonly Arg[]
}

export interface PlannedCall {
  readonly name: string
  readonly call: Call
}

export interface PlannedWorkflow {
  readonly name: string
  /** The workflow's own name. */
  readonly title: string
  readonly options: ArgObject
  readonly wires: readonly Wire[]
}

export interface Plan {
  /** Each after the values that it uses. */
  readonly values: readonly (PlannedCall | PlannedWorkflow)[]
  /** The name of the definition's workflow. */
  readonly main: string
}

export function call(make: string, ...args: readonly Arg[]): Call {
  return new Call(make, args)
}

/** Leaves out options without a value. */
export function callWith(make: string, args: readonly Arg[], options: ArgObject): Call {
  const isEmpty = Object.values(options).every((value) => value === undefined)
  return new Call(make, isEmpty ? args : [...args, options])
}

/** The arguments that have a value; undefined if none has. */
export function definedArgs(args: ArgObject): ArgObject | undefined {
  const defined = Object.entries(args).filter(([, value]) => value !== undefined)
  return defined.length === 0 ? undefined : Object.fromEntries(defined)
}

export function later(arg: Arg, of?: PlanType | undefined): Later {
  return new Later(arg, of)
}

/** A function that a plan may call, and the entry that ejected code imports it from. */
export interface PlanFunction {
  /** The entry of the package, as users import it. */
  readonly from: string
  readonly make: (...args: never[]) => unknown
}

export interface PlanFunctions {
  readonly [name: string]: PlanFunction
}

/** Several functions of one entry. */
export function functionsFrom(
  from: string,
  functions: { readonly [name: string]: PlanFunction["make"] },
): PlanFunctions {
  return Object.fromEntries(Object.entries(functions).map(([name, make]) => [name, { from, make }]))
}

/** The values that the workflow uses, directly or through others. */
export function reachable({ values, main }: Plan): ReadonlySet<string> {
  const byName = new Map(values.map((value) => [value.name, value]))
  const found = new Set<string>()
  const queue: Arg[] = [new Ref(main)]
  for (let arg = queue.pop(); arg !== undefined || queue.length > 0; arg = queue.pop()) {
    if (arg instanceof Ref) {
      const value = byName.get(arg.name)
      if (value === undefined || found.has(arg.name)) continue
      found.add(arg.name)
      if ("call" in value) queue.push(value.call)
      else queue.push(value.options, ...value.wires.map((wire) => wire.args))
    } else if (arg instanceof Later) queue.push(arg.arg)
    else if (arg instanceof Call) queue.push(arg.args)
    else if (typeof arg === "object" && arg !== null) queue.push(...(Object.values(arg) as Arg[]))
  }
  return found
}
