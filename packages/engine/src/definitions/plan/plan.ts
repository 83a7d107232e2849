/**
 * A compiled definition: the calls that create its agents, tools and nodes, and those that wire them, as data. `link`
 * makes the calls; `eject.ts` prints them as TypeScript that creates the same workflow. The definition is not read again
 * at run time.
 */

import { type Workflow, type WorkflowBuilder, workflow } from "../../builder/index.ts"
import { type Json, SuperstepError } from "../../core/index.ts"

/** A reference to a value by its name. */
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
type WireMethod =
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

/** A function that a module of the user exports. */
export interface PlannedImport {
  readonly name: string
  /** The absolute path of the module. */
  readonly file: string
  /** The path as ejected code imports it, relative to the definition's folder. */
  readonly specifier: string
  readonly exported: string
}

export type PlannedValue = PlannedCall | PlannedWorkflow | PlannedImport

export interface Plan {
  /** Each after the values that it uses. */
  readonly values: readonly PlannedValue[]
  /** The name of the definition's workflow. */
  readonly main: string
}

export function call(make: string, ...args: readonly Arg[]): Call {
  return new Call(make, args)
}

/** Leaves out options without a value. */
export function callWith(make: string, args: readonly Arg[], ...options: readonly ArgObject[]): Call {
  const defined = definedArgs(...options)
  return new Call(make, defined === undefined ? args : [...args, defined])
}

/** The arguments that have a value; undefined if none has. */
export function definedArgs(...args: readonly ArgObject[]): ArgObject | undefined {
  const defined: [string, Arg][] = []
  for (const part of args) {
    for (const name of Object.keys(part)) if (part[name] !== undefined) defined.push([name, part[name]])
  }
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
  const found = new Set([main])
  // Values refer to each other to any depth; an argument is not so deep.
  const queue = [main]
  const visit = (arg: Arg): void => {
    if (typeof arg !== "object" || arg === null) return
    if (arg instanceof Ref) {
      if (found.has(arg.name)) return
      found.add(arg.name)
      queue.push(arg.name)
    } else if (arg instanceof Later) visit(arg.arg)
    else if (arg instanceof Call) arg.args.forEach(visit)
    else for (const one of Object.values(arg)) visit(one as Arg)
  }
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    const value = byName.get(name)
    if (value === undefined || "exported" in value) continue
    if ("call" in value) visit(value.call)
    else for (const arg of [value.options, ...value.wires.map(({ args }) => args)]) visit(arg)
  }
  return found
}

// Writing a plan: every value gets a TypeScript identifier, and calls keep their order.

export class PlanWriter {
  readonly #values: PlannedValue[] = []
  readonly #names = new Set<string>(RESERVED)
  /** How often each name was requested. */
  readonly #requested = new Map<string, number>()

  /** Values must not have the names of functions. */
  constructor(functions: Iterable<string>) {
    for (const name of functions) this.#names.add(name)
  }

  value(wanted: string, call: Call): Ref {
    const name = this.#name(wanted)
    this.#values.push({ name, call })
    return new Ref(name)
  }

  /** A function of a module; several steps may use it. */
  import(file: string, specifier: string, exported: string): Ref {
    const known = this.#values.find(
      (value) => "exported" in value && value.file === file && value.exported === exported,
    )
    if (known !== undefined) return new Ref(known.name)
    const name = this.#name(exported)
    this.#values.push({ name, file, specifier, exported })
    return new Ref(name)
  }

  /** Reserves the name of a value that is created later, for values that refer to each other. */
  reserve(wanted: string): Ref {
    return new Ref(this.#name(wanted))
  }

  make({ name }: Ref, call: Call): void {
    this.#values.push({ name, call })
  }

  workflow(wanted: string, title: string, options: ArgObject): WorkflowWriter {
    const name = this.#name(wanted)
    return new WorkflowWriter(new Ref(name), (wires) =>
      this.#values.push({ name, title, options, wires: [...wires] }),
    )
  }

  plan(main: Ref): Plan {
    return { values: [...this.#values], main: main.name }
  }

  #name(wanted: string): string {
    const base = identifier(wanted)
    let name = base
    let n = this.#requested.get(base) ?? 1
    while (this.#names.has(name)) name = `${base}${++n}`
    this.#requested.set(base, n)
    this.#names.add(name)
    return name
  }
}

export class WorkflowWriter {
  readonly ref: Ref
  readonly #wires: Wire[] = []
  readonly #onDone: (wires: readonly Wire[]) => void

  constructor(ref: Ref, onDone: (wires: readonly Wire[]) => void) {
    this.ref = ref
    this.#onDone = onDone
  }

  wire(method: WireMethod, ...args: readonly Arg[]): this {
    this.#wires.push({ method, args })
    return this
  }

  /** Adds the workflow to the plan. */
  done(): Ref {
    this.#onDone(this.#wires)
    return this.ref
  }
}

/** Long names of nested steps keep their last words. */
const MAX_LENGTH = 60

/** `2n-chat: router` becomes `_2nChatRouter`. */
function identifier(text: string): string {
  const words = text.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "")
  let length = words.join("").length
  while (words.length > 1 && length > MAX_LENGTH) length -= words.shift()?.length ?? 0
  const [first = "value", ...rest] = words
  const name = first + rest.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("")
  const start = /^\p{ID_Start}/u.test(name) ? name.charAt(0).toLowerCase() + name.slice(1) : `_${name}`
  return start.replace(/[^\p{ID_Continue}$]/gu, "")
}

const RESERVED = (
  "arguments await break case catch class const continue debugger default delete do else enum eval export exports " +
  "extends false finally for function if implements import in instanceof interface let new null package private protected " +
  "public require return static super switch this throw true try typeof undefined var void while with yield workflow " +
  "Array Boolean Error Function Infinity JSON Map Math NaN Number Object Promise Set String Symbol console process"
).split(" ")

/** The result of `link`, which makes the calls of a plan. */

export interface Linked {
  readonly workflow: Workflow<never, unknown>
  /** Every value by its name in the plan. */
  readonly values: ReadonlyMap<string, unknown>
}

/** Makes the function that a module exports, which is imported on its first call. */
export type ImportFunction = (imported: PlannedImport) => unknown

export function link(plan: Plan, functions: PlanFunctions, importFunction?: ImportFunction): Linked {
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
    if ("call" in value) values.set(value.name, callOf(value.call))
    else if ("wires" in value) values.set(value.name, build(value, made))
    else values.set(value.name, importFunction?.(value))
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
