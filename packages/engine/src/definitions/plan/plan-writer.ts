/** Writes a plan: gives every value a TypeScript identifier, and keeps the order of the calls. */
import {
  type Arg,
  type ArgObject,
  type Call,
  type Plan,
  type PlannedCall,
  type PlannedWorkflow,
  Ref,
  type Wire,
  type WireMethod,
} from "./plan.ts"

export class PlanWriter {
  readonly #values: (PlannedCall | PlannedWorkflow)[] = []
  readonly #names = new Set<string>(RESERVED)
  /** How often each name was requested. */
  readonly #requested = new Map<string, number>()

  /** Values do not take the names of functions. */
  constructor(functions: Iterable<string>) {
    for (const name of functions) this.#names.add(name)
  }

  value(wanted: string, call: Call): Ref {
    const name = this.#name(wanted)
    this.#values.push({ name, call })
    return new Ref(name)
  }

  /** Reserves the name of a value that is made later, for values that refer to each other. */
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
  return [...start].filter((character) => /[\p{ID_Continue}$]/u.test(character)).join("")
}

const RESERVED = (
  "arguments await break case catch class const continue debugger default delete do else enum eval export exports " +
  "extends false finally for function if implements import in instanceof interface let new null package private protected " +
  "public require return static super switch this throw true try typeof undefined var void while with yield workflow " +
  "Array Boolean Error Function Infinity JSON Map Math NaN Number Object Promise Set String Symbol console process"
).split(" ")
