/**
 * A definition compiled: the calls that make its agents, tools and nodes, and those that wire them, as data. Linked
 * (`link.ts`), they make a workflow; printed (`eject.ts`), they are TypeScript that makes the same one. So what a
 * definition does is settled here, and nothing looks at it again when it runs.
 */
import type { Json } from "../../core/index.ts"

/** A value that was made before, by its name. */
export class Ref {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/** A call of one of the functions that `link` and `eject` know. */
export class Call {
  readonly make: string
  readonly args: readonly Arg[]

  constructor(make: string, args: readonly Arg[]) {
    this.make = make
    this.args = args
  }
}

/** What is not needed before a run: agents that name each other. */
export class Later {
  readonly arg: Arg
  /** What it is a list of. Values that name each other have no type unless it is said. */
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

/** Far beyond what any definition needs: loops and visits have limits of their own. */
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
  /** In the order in which they can be made. */
  readonly values: readonly (PlannedCall | PlannedWorkflow)[]
  /** The value that is the definition's workflow. */
  readonly main: string
}

export function call(make: string, ...args: readonly Arg[]): Call {
  return new Call(make, args)
}

/** Without options where there are none. */
export function callWith(make: string, args: readonly Arg[], options: ArgObject): Call {
  const isEmpty = Object.values(options).every((value) => value === undefined)
  return new Call(make, isEmpty ? args : [...args, options])
}

export function later(arg: Arg, of?: PlanType | undefined): Later {
  return new Later(arg, of)
}
