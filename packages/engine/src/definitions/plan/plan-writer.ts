/** Writes a plan: gives every value a name that TypeScript can have, and keeps the order in which they are made. */
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
  /** How often each name was wanted. */
  readonly #wanted = new Map<string, number>()

  /** The names of the functions it may call are not given to values. */
  constructor(functions: Iterable<string>) {
    for (const name of functions) this.#names.add(name)
  }

  /** A value, named after what it stands for. */
  value(wanted: string, call: Call): Ref {
    const name = this.#name(wanted)
    this.#values.push({ name, call })
    return new Ref(name)
  }

  /** Names now what is made later: for values that name each other. */
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
    let n = this.#wanted.get(base) ?? 1
    while (this.#names.has(name)) name = `${base}${++n}`
    this.#wanted.set(base, n)
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

  /** All its nodes are made. */
  done(): Ref {
    this.#onDone(this.#wires)
    return this.ref
  }
}

/** A name of a step deep inside of blocks is long: its last words tell it best. */
const LONGEST = 60

/** `2n-chat: router` becomes `_2nChatRouter`. */
function identifier(text: string): string {
  const words = text.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "")
  let length = words.join("").length
  while (words.length > 1 && length > LONGEST) length -= words.shift()?.length ?? 0
  const [first = "value", ...rest] = words
  const name = first + rest.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("")
  const start = /^\p{ID_Start}/u.test(name) ? name.charAt(0).toLowerCase() + name.slice(1) : `_${name}`
  return [...start].filter((sign) => /[\p{ID_Continue}$]/u.test(sign)).join("")
}

const RESERVED = (
  "arguments await break case catch class const continue debugger default delete do else enum eval export exports " +
  "extends false finally for function if implements import in instanceof interface let new null package private protected " +
  "public require return static super switch this throw true try typeof undefined var void while with yield workflow " +
  "Array Boolean Error Function Infinity JSON Map Math NaN Number Object Promise Set String Symbol console process"
).split(" ")
