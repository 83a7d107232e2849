/** From nodes and edges to a workflow. Wrong wiring does not compile; what types cannot see fails at build. */
import {
  type Budget,
  compileGraph,
  type EdgeGroup,
  isBuiltInReducer,
  type JoinPolicy,
  type Json,
  type Limits,
  type NodeId,
  type NodeSpec,
  type Schedule,
  type Settled,
  SuperstepError,
  type SwitchCase,
} from "../core/index.ts"
import {
  type BoundHandler,
  type Channel,
  type Condition,
  currentTelemetry,
  type EdgeFunctions,
  jsonSchemaOf,
  type Program,
  programNode,
  type Reducer,
  Router,
  type Select,
} from "../runtime/index.ts"
import { all, type Join } from "./joins.ts"
import type { Node } from "./node.ts"
import type {
  AnyNode,
  Failure,
  FirstIn,
  Joined,
  LastOut,
  LimitNotice,
  Linked,
  OutOf,
  Unset,
} from "./wiring.ts"
import { makeWorkflow, type Workflow } from "./workflow.ts"

export interface WorkflowOptions {
  readonly description?: string | undefined
  /** The channels of the state that nodes share. */
  readonly state?: readonly Channel<unknown, never>[] | undefined
  /** `superstep`: messages are delivered when all tasks of a step are done. `flow`: at once. */
  readonly schedule?: Schedule | undefined
  readonly limits?: Limits | undefined
  /** Milliseconds a run may take, and the most it may use, unless the run is given its own. */
  readonly timeout?: number | undefined
  readonly budget?: Budget | undefined
}

type When<M> = (message: M) => boolean | Promise<boolean>

export interface EdgeOptions<M> {
  /** The edge is taken when this holds. */
  readonly when?: When<M> | undefined
  /** How often a run may take the edge; one more ends it with status `limit`. */
  readonly max?: number | undefined
  /** Shown in pictures. */
  readonly label?: string | undefined
}

export interface Case<M, N = AnyNode> {
  readonly when: When<M>
  readonly to: N
  readonly label?: string | undefined
}

export interface LoopOptions<M, N> {
  /** Goes round while this holds. */
  readonly while?: When<M> | undefined
  /** Goes round until this holds. */
  readonly until?: When<M> | undefined
  /** Passes at the most; after the last one the run takes the exit. */
  readonly max?: number | undefined
  /** Where the message goes when the loop ends; absent: it is an output. */
  readonly exit?: N | undefined
}

type Started<In, First> = [In] extends [Unset] ? First : In

export class WorkflowBuilder<In = Unset, Out = never, StartOut = never> {
  readonly #name: string
  readonly #options: WorkflowOptions
  readonly #nodes = new Map<NodeId, Node[]>()
  readonly #edges: EdgeGroup[] = []
  readonly #functions = new Map<
    EdgeGroup,
    { conditions?: readonly (Condition | undefined)[]; select?: Select }
  >()
  #start: NodeId | undefined
  #outputs: Set<NodeId> | undefined
  #onLimit: NodeId | undefined

  constructor(name: string, options: WorkflowOptions) {
    this.#name = name
    this.#options = options
  }

  /** Where the input goes. */
  start<I, O>(node: Node<I, O>): WorkflowBuilder<I, Out, O> {
    this.#start = this.#add(node)
    return this.#as()
  }

  /** Messages of `from` go to `to`, all or those for which `when` holds. */
  edge<M, O>(
    from: Node<never, M>,
    to: Node<M, O>,
    options: EdgeOptions<M> = {},
  ): WorkflowBuilder<In, Out | O, StartOut> {
    const { when, max, label } = options
    const group = {
      kind: "single",
      from: this.#add(from),
      to: this.#add(to),
      conditional: when !== undefined,
      max,
      label,
    } as const
    return this.#connect(group, when === undefined ? {} : { conditions: [when as Condition] })
  }

  /** One after another; the first is the start where none was named. */
  chain<const N extends readonly [AnyNode, ...AnyNode[]]>(
    ...nodes: N & Linked<N>
  ): WorkflowBuilder<Started<In, FirstIn<N>>, Out | LastOut<N>, StartOut> {
    const ids = (nodes as readonly AnyNode[]).map((node) => this.#add(node))
    this.#start ??= ids[0]
    for (const [i, to] of ids.entries()) {
      const from = ids[i - 1]
      if (from !== undefined) this.#edges.push({ kind: "single", from, to })
    }
    return this.#as()
  }

  /** Messages go to all targets at once, or to those that `select` names. */
  fanOut<M, const T extends readonly Node<M, unknown>[]>(
    from: Node<never, M>,
    to: T,
    options: {
      readonly select?:
        | ((message: M, targets: readonly NodeId[]) => readonly NodeId[] | Promise<readonly NodeId[]>)
        | undefined
      readonly label?: string | undefined
    } = {},
  ): WorkflowBuilder<In, Out | OutOf<T[number]>, StartOut> {
    const { select, label } = options
    const group = {
      kind: "fan-out",
      from: this.#add(from),
      to: to.map((node) => this.#add(node)),
      selective: select !== undefined,
      label,
    } as const
    return this.#connect(group, select === undefined ? {} : { select: select as Select })
  }

  /** The target gets one list of what the sources sent, in their order here. */
  fanIn<const S extends readonly AnyNode[], O, Kind extends JoinPolicy["kind"] = "all">(
    from: S,
    to: Node<Joined<S, Kind>, O>,
    options: { readonly join?: Join<Kind> | undefined; readonly timeout?: number | undefined } = {},
  ): WorkflowBuilder<In, Out | O, StartOut> {
    const { policy } = options.join ?? all()
    const sources = from.map((node) => this.#add(node))
    return this.#connect(
      { kind: "fan-in", from: sources, to: this.#add(to), join: policy, timeout: options.timeout },
      {},
    )
  }

  /** The first case that holds takes the message, else the default; without one the message is an output. */
  switch<M, const C extends readonly Case<M, Node<M, unknown>>[], O = M>(
    from: Node<never, M>,
    cases: C,
    otherwise?: Node<M, O>,
  ): WorkflowBuilder<In, Out | O | OutOf<C[number]["to"]>, StartOut> {
    const list: SwitchCase[] = cases.map(({ to, label }) => ({ to: this.#add(to), conditional: true, label }))
    list.push({ ...(otherwise === undefined ? {} : { to: this.#add(otherwise) }), conditional: false })
    return this.#connect(
      { kind: "switch", from: this.#add(from), cases: list },
      { conditions: cases.map(({ when }) => when as Condition) },
    )
  }

  /** One task of the worker per item of the list that `from` returns; `to` gets the results in item order. */
  map<Item, R, O>(
    from: Node<never, readonly Item[]>,
    worker: Node<Item, R>,
    to: Node<readonly R[], O>,
    options?: { readonly concurrency?: number | undefined; readonly settle?: false | undefined },
  ): WorkflowBuilder<In, Out | O, StartOut>
  map<Item, R, O>(
    from: Node<never, readonly Item[]>,
    worker: Node<Item, R>,
    to: Node<readonly Settled<R>[], O>,
    options: { readonly concurrency?: number | undefined; readonly settle: true },
  ): WorkflowBuilder<In, Out | O, StartOut>
  map<Item, R>(
    from: Node<never, readonly Item[]>,
    worker: Node<Item, R>,
  ): WorkflowBuilder<In, Out | readonly R[], StartOut>
  map(
    from: AnyNode,
    worker: AnyNode,
    to?: AnyNode,
    options: { readonly concurrency?: number | undefined; readonly settle?: boolean | undefined } = {},
  ): WorkflowBuilder<In, unknown, StartOut> {
    const target = to === undefined ? {} : { to: this.#add(to) }
    const { concurrency, settle } = options
    return this.#connect(
      { kind: "map", from: this.#add(from), worker: this.#add(worker), ...target, concurrency, settle },
      {},
    )
  }

  /** Back from `from` to `to`, while or until a condition holds, so many times at the most. */
  loop<M, O, E = M>(
    from: Node<never, M>,
    to: Node<M, O>,
    options: LoopOptions<M, Node<M, E>>,
  ): WorkflowBuilder<In, Out | E, StartOut> {
    const { max, exit } = options
    // With nothing to end it, it is a plain edge back, which the validation refuses by name.
    if (options.while === undefined && options.until === undefined && max === undefined) {
      return this.#connect({ kind: "single", from: this.#add(from), to: this.#add(to) }, {})
    }
    const goesOn = options.while ?? not(options.until)
    const again: SwitchCase = {
      to: this.#add(to),
      conditional: true,
      max,
      label: max === undefined ? undefined : `at most ${max}`,
    }
    const leave: SwitchCase = { ...(exit === undefined ? {} : { to: this.#add(exit) }), conditional: false }
    return this.#connect(
      { kind: "switch", from: this.#add(from), cases: [again, leave] },
      { conditions: [goesOn as Condition] },
    )
  }

  /** Only what these nodes return is output; without it, what nodes without an edge out return. */
  output<O>(...nodes: readonly Node<never, O>[]): WorkflowBuilder<In, O, StartOut> {
    this.#outputs ??= new Set()
    for (const node of nodes) this.#outputs.add(this.#add(node))
    return this.#as()
  }

  /** When `from` has failed for good, `to` gets the failure, and the run goes on. */
  onError<O>(from: AnyNode, to: Node<Failure, O>): WorkflowBuilder<In, Out | O, StartOut> {
    return this.#connect({ kind: "error", from: this.#add(from), to: this.#add(to) }, {})
  }

  /** Where the run goes, once, when a limit, its budget or its time is reached, instead of ending there. */
  onLimit<O>(to: Node<LimitNotice, O>): WorkflowBuilder<In, Out | O, StartOut> {
    this.#onLimit = this.#add(to)
    return this.#as()
  }

  /** Checks everything, and throws a GraphInvalidError that lists all problems. */
  build(): Workflow<In, [Out] extends [never] ? StartOut : Out> {
    const { description, schedule, limits, timeout, budget, state = [] } = this.#options
    const { graph, warnings } = compileGraph({
      name: this.#name,
      description,
      schedule,
      limits: limits && { ...limits },
      start: this.#start,
      nodes: [...this.#nodes.values()].flat().map(nodeSpec),
      edges: [...this.#edges],
      outputs: this.#outputs && [...this.#outputs],
      // Copies: what is built is frozen, and the caller's own values are not.
      channels: state.map(({ spec }) => ({ ...spec, initial: structuredClone(spec.initial) })),
      onLimit: this.#onLimit,
    })
    const functions: EdgeFunctions = new Map(this.#functions)
    const program: Program = {
      graph,
      nodes: graph.nodes.map((node) => {
        const [{ definition }] = this.#nodes.get(node.id) as [Node]
        return programNode(node, definition, new Router(node, functions))
      }),
      reducers: reducersOf(state),
      timeout,
      budget,
    }
    currentTelemetry()?.built(graph)
    return makeWorkflow(program, warnings)
  }

  #add(node: AnyNode): NodeId {
    const known = this.#nodes.get(node.id)
    if (known === undefined) this.#nodes.set(node.id, [node])
    else if (!known.includes(node)) known.push(node)
    return node.id
  }

  #connect<B>(
    group: EdgeGroup,
    functions: { conditions?: readonly (Condition | undefined)[]; select?: Select },
  ): B {
    this.#edges.push(group)
    this.#functions.set(group, functions)
    return this.#as()
  }

  /** The same builder under the type that the call has led to. */
  #as<B>(): B {
    return this as unknown as B
  }
}

export function workflow(name: string, options: WorkflowOptions = {}): WorkflowBuilder {
  return new WorkflowBuilder(name, options)
}

function not<M>(condition: When<M> | undefined): When<M> {
  if (condition === undefined) return () => true
  return (message) => {
    const holds = condition(message)
    return typeof holds === "boolean" ? !holds : holds.then((later) => !later)
  }
}

function nodeSpec({ id, definition }: Node): NodeSpec {
  const { kind, handlers, output, retry, timeout, concurrency, maxVisits, budget } = definition
  const { onError, description, nested } = definition
  const input = handlers.map(({ schema }: BoundHandler) => jsonSchemaOf(schema, "input"))
  return {
    id,
    kind,
    // Where one handler takes anything, or cannot say what, nothing is known about the node's input.
    input: input.every((schema) => schema !== undefined) ? (input as Json[]) : undefined,
    output: jsonSchemaOf(output, "output"),
    retry: retry && {
      ...retry,
      on: retry.on && [...retry.on],
      matching: retry.matching && [...retry.matching],
    },
    timeout,
    concurrency,
    maxVisits,
    budget: budget && { ...budget },
    onError,
    description,
    nested: nested?.program.graph,
  }
}

function reducersOf(state: readonly Channel<unknown, never>[]): Map<string, Reducer> {
  const reducers = new Map<string, Reducer>()
  for (const { key, reduce, spec } of state) {
    if (reduce === undefined) continue
    const known = reducers.get(spec.reducer)
    if (isBuiltInReducer(spec.reducer) || (known !== undefined && known !== reduce)) {
      throw new SuperstepError(
        "REDUCER_NAME_TAKEN",
        `Channel "${key}": another reducer has the name "${spec.reducer}"; give each its own.`,
      )
    }
    reducers.set(spec.reducer, reduce)
  }
  return reducers
}
