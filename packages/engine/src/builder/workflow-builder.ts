/** Builds a workflow from nodes and edges. Wrong wiring does not compile; `build()` reports what types cannot express. */

import {
  compileGraph,
  type EdgeGroup,
  isBuiltInReducer,
  type JoinPolicy,
  type Json,
  type NodeId,
  type NodeSpec,
  type Problem,
  type Settled,
  SuperstepError,
  type SwitchCase,
} from "../core/index.ts"
import {
  type AnyState,
  type BoundHandler,
  type Channel,
  type Condition,
  currentTelemetry,
  type EdgeFunctions,
  type JsonOnly,
  jsonSchemaOf,
  type Program,
  programNode,
  type Reducer,
  Router,
  type Select,
  type StateOf,
} from "../runtime/index.ts"
import { nodeFlow, programFlow } from "./flow-options.ts"
import {
  type Case,
  checkEdgeOptions,
  checkNodePolicies,
  checkWorkflowOptions,
  type EdgeOptions,
  type LoopOptions,
  type When,
  type WorkflowOptions,
} from "./options.ts"
import {
  type AnyNode,
  all,
  type Failure,
  type FirstIn,
  type Join,
  type Joined,
  type LastOut,
  type LimitNotice,
  type Linked,
  type Node,
  type OutOf,
  type PutOf,
  type Unbuilt,
  type Unset,
} from "./wiring.ts"
import { makeWorkflow, type Workflow } from "./workflow.ts"

type Started<In, First> = [In] extends [Unset] ? First : In

export class WorkflowBuilder<In = Unset, Out = never, StartOut = never, Put = never, State = AnyState> {
  readonly #name: string
  readonly #options: WorkflowOptions
  readonly #nodes = new Map<NodeId, AnyNode[]>()
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

  /** Sets the node that receives the input. */
  start<I, O, P>(node: Node<I, O, P> & JsonOnly<I>): WorkflowBuilder<I, Out, O, Put | P, State> {
    this.#start = this.#add(node)
    return this.#as()
  }

  /** Sends messages of `from` to `to`: all of them, or those for which `when` holds. */
  edge<M, O, P>(
    from: Node<never, M, unknown>,
    to: Node<M, O, P>,
    options: EdgeOptions<M> = {},
  ): WorkflowBuilder<In, Out | O, StartOut, Put | P, State> {
    checkEdgeOptions("edge", from.id, options)
    const { when, max, label } = options
    const group = {
      kind: "single",
      from: this.#add(from),
      to: this.#add(to),
      conditional: when !== undefined,
      max,
      label,
    } as const
    return this.#connect(group, when && { conditions: [when as Condition] })
  }

  /** Connects nodes in sequence; the first is the start if none is set. */
  chain<const N extends readonly [AnyNode, ...AnyNode[]]>(
    ...nodes: N & Linked<N>
  ): WorkflowBuilder<Started<In, FirstIn<N>>, Out | LastOut<N>, StartOut, Put | PutOf<N[number]>, State> {
    const ids = (nodes as readonly AnyNode[]).map((node) => this.#add(node))
    this.#start ??= ids[0]
    for (const [i, to] of ids.entries()) {
      const from = ids[i - 1]
      if (from !== undefined) this.#edges.push({ kind: "single", from, to })
    }
    return this.#as()
  }

  /** Sends messages to all targets, or to those that `select` returns. */
  fanOut<M, const T extends readonly Node<M, unknown, unknown>[]>(
    from: Node<never, M, unknown>,
    to: T,
    options: {
      readonly select?:
        | ((message: M, targets: readonly NodeId[]) => readonly NodeId[] | Promise<readonly NodeId[]>)
        | undefined
      readonly label?: string | undefined
    } = {},
  ): WorkflowBuilder<In, Out | OutOf<T[number]>, StartOut, Put | PutOf<T[number]>, State> {
    checkEdgeOptions("fanOut", from.id, options)
    const { select, label } = options
    const group = {
      kind: "fan-out",
      from: this.#add(from),
      to: to.map((node) => this.#add(node)),
      selective: select !== undefined,
      label,
    } as const
    return this.#connect(group, select && { select: select as Select })
  }

  /** The target receives one list of the sources' messages, in the declared order. */
  fanIn<const S extends readonly AnyNode[], O, P, Kind extends JoinPolicy["kind"] = "all">(
    from: S,
    to: Node<Joined<S, Kind>, O, P>,
    options: { readonly join?: Join<Kind> | undefined; readonly timeout?: number | undefined } = {},
  ): WorkflowBuilder<In, Out | O, StartOut, Put | P, State> {
    checkEdgeOptions("fanIn", to.id, options)
    const { policy } = options.join ?? all()
    const sources = from.map((node) => this.#add(node))
    return this.#connect({
      kind: "fan-in",
      from: sources,
      to: this.#add(to),
      join: policy,
      timeout: options.timeout,
    })
  }

  /** The first matching case receives the message, else the default; without a default the message is an output. */
  switch<M, const C extends readonly Case<M, Node<M, unknown, unknown>>[], O = M, P = never>(
    from: Node<never, M, unknown>,
    cases: C,
    otherwise?: Node<M, O, P>,
  ): WorkflowBuilder<
    In,
    Out | O | OutOf<C[number]["to"]>,
    StartOut,
    Put | P | PutOf<C[number]["to"]>,
    State
  > {
    for (const one of cases) checkEdgeOptions("switch", from.id, one)
    const list: SwitchCase[] = cases.map(({ to, label }) => ({ to: this.#add(to), conditional: true, label }))
    list.push({ ...(otherwise === undefined ? {} : { to: this.#add(otherwise) }), conditional: false })
    return this.#connect(
      { kind: "switch", from: this.#add(from), cases: list },
      { conditions: cases.map(({ when }) => when as Condition) },
    )
  }

  /** Runs the worker once per item of the list that `from` returns; `to` receives the results in item order. */
  map<Item, R, O, P, Q>(
    from: Node<never, readonly Item[], unknown>,
    worker: Node<Item, R, Q>,
    to: Node<readonly R[], O, P>,
    options?: { readonly concurrency?: number | undefined; readonly settle?: false | undefined },
  ): WorkflowBuilder<In, Out | O, StartOut, Put | P | Q, State>
  map<Item, R, O, P, Q>(
    from: Node<never, readonly Item[], unknown>,
    worker: Node<Item, R, Q>,
    to: Node<readonly Settled<R>[], O, P>,
    options: { readonly concurrency?: number | undefined; readonly settle: true },
  ): WorkflowBuilder<In, Out | O, StartOut, Put | P | Q, State>
  map<Item, R, Q>(
    from: Node<never, readonly Item[], unknown>,
    worker: Node<Item, R, Q>,
  ): WorkflowBuilder<In, Out | readonly R[], StartOut, Put | Q, State>
  map(
    from: AnyNode,
    worker: AnyNode,
    to?: AnyNode,
    options: { readonly concurrency?: number | undefined; readonly settle?: boolean | undefined } = {},
  ): WorkflowBuilder<In, unknown, StartOut, unknown, State> {
    const target = to === undefined ? {} : { to: this.#add(to) }
    checkEdgeOptions("map", from.id, options)
    const { concurrency, settle } = options
    return this.#connect({
      kind: "map",
      from: this.#add(from),
      worker: this.#add(worker),
      ...target,
      concurrency,
      settle,
    })
  }

  /** Loops back from `from` to `to`, while or until a condition holds, at most `max` times. */
  loop<M, O, E = M, P = never>(
    from: Node<never, M, unknown>,
    to: Node<M, O, unknown>,
    options: LoopOptions<M, Node<M, E, P>>,
  ): WorkflowBuilder<In, Out | E, StartOut, Put | P, State> {
    checkEdgeOptions("loop", from.id, options)
    const { max, exit } = options
    // Without an end condition it is a plain back edge, which validation rejects.
    if (options.while === undefined && options.until === undefined && max === undefined) {
      return this.#connect({ kind: "single", from: this.#add(from), to: this.#add(to) })
    }
    const repeats = options.while ?? not(options.until)
    const again: SwitchCase = {
      to: this.#add(to),
      conditional: true,
      max,
      label: max === undefined ? undefined : `at most ${max}`,
    }
    const leave: SwitchCase = { ...(exit === undefined ? {} : { to: this.#add(exit) }), conditional: false }
    return this.#connect(
      { kind: "switch", from: this.#add(from), cases: [again, leave] },
      { conditions: [repeats as Condition] },
    )
  }

  /** Only the results of these nodes are outputs; by default, the results of nodes without an outgoing edge. */
  output<O>(...nodes: readonly Node<never, O, unknown>[]): WorkflowBuilder<In, O, StartOut, Put, State> {
    this.#outputs ??= new Set()
    for (const node of nodes) this.#outputs.add(this.#add(node))
    return this.#as()
  }

  /** After the final failure of `from`, `to` receives the failure, and the run continues. */
  onError<O, P>(
    from: AnyNode,
    to: Node<Failure, O, P>,
  ): WorkflowBuilder<In, Out | O, StartOut, Put | P, State> {
    return this.#connect({ kind: "error", from: this.#add(from), to: this.#add(to) })
  }

  /** The node to which the run goes, once, instead of ending when it reaches a limit, its budget or its timeout. */
  onLimit<O, P>(to: Node<LimitNotice, O, P>): WorkflowBuilder<In, Out | O, StartOut, Put | P, State> {
    this.#onLimit = this.#add(to)
    return this.#as()
  }

  get run(): Unbuilt<In> {
    return this.#unbuilt("run")
  }

  get stream(): Unbuilt<In> {
    return this.#unbuilt("stream")
  }

  get resume(): Unbuilt<In> {
    return this.#unbuilt("resume")
  }

  get asNode(): Unbuilt<In> {
    return this.#unbuilt("asNode")
  }

  /** Only a built workflow has these methods: the error explains that `build()` is missing. */
  #unbuilt(method: string): Unbuilt<In> {
    const name = `Workflow "${this.#name}"`
    const missing = this.#start === undefined ? "give it a start with .start(node) or .chain(…), then " : ""
    const fail = () => {
      const text = `${name} is not built, so it has no ${method}(): ${missing}call .build(), and .${method}() on its result.`
      throw new SuperstepError("NOT_BUILT", text)
    }
    return fail as never
  }

  /** Checks everything, and throws a GraphInvalidError that lists all problems. */
  build(): Workflow<In, ([Out] extends [never] ? StartOut : Out) | Put, State> {
    checkWorkflowOptions(this.#name, this.#options)
    const { description, schedule, limits, timeout, budget, flow, schedules, state = [] } = this.#options
    const { graph, warnings } = compileGraph({
      name: this.#name,
      description,
      schedule,
      limits: limits && { ...limits },
      start: this.#start,
      nodes: [...this.#nodes.values()].flat().map(nodeSpec),
      edges: [...this.#edges],
      outputs: this.#outputs && [...this.#outputs],
      // Copies, because a built workflow is frozen and the caller's own values must not be.
      channels: state.map(({ spec }) => ({ ...spec, initial: structuredClone(spec.initial) })),
      onLimit: this.#onLimit,
    })
    const functions: EdgeFunctions = new Map(this.#functions)
    const program: Program = {
      graph,
      nodes: graph.nodes.map((node) => {
        const [{ definition }] = this.#nodes.get(node.id) as [AnyNode]
        const { handlers, onAnswer, output, flow, placement } = definition
        const own = { handlers, onAnswer, output, flow: nodeFlow(flow), placement }
        return programNode(node, own, new Router(node, functions))
      }),
      reducers: reducersOf(state),
      timeout,
      budget: budget && Object.freeze({ ...budget }),
      flow: programFlow(this.#name, flow),
      schedules: schedules && structuredClone(schedules),
    }
    currentTelemetry()?.built(graph)
    const own = [...this.#nodes.values()].flat().flatMap(nodeWarnings)
    return makeWorkflow(program, [...warnings, ...own]) as never
  }

  #add(node: AnyNode): NodeId {
    checkNode(this.#name, node)
    const known = this.#nodes.get(node.id)
    if (known?.includes(node)) return node.id
    checkNodePolicies(node.id, node.definition)
    if (known === undefined) this.#nodes.set(node.id, [node])
    else known.push(node)
    return node.id
  }

  #connect<B>(
    group: EdgeGroup,
    functions?: { conditions?: readonly (Condition | undefined)[]; select?: Select },
  ): B {
    this.#edges.push(group)
    if (functions !== undefined) this.#functions.set(group, functions)
    return this.#as()
  }

  /** The same builder with the type that results from the call. */
  #as<B>(): B {
    return this as unknown as B
  }
}

export function workflow<const Channels extends readonly Channel[] = readonly Channel[]>(
  name: string,
  options: WorkflowOptions<Channels> = {},
): WorkflowBuilder<Unset, never, never, never, StateOf<Channels>> {
  return new WorkflowBuilder(name, options)
}

/** Callers may be untyped: the error names what was passed instead of a node. */
function checkNode(workflow: string, value: unknown): void {
  const { id, definition } = (value ?? {}) as Partial<AnyNode>
  if (typeof id === "string" && definition !== undefined) return
  // Checked last: an agent, which is a node too, creates its program on access.
  const { program, name } = (value ?? {}) as Partial<Workflow>
  const what =
    value instanceof WorkflowBuilder
      ? "a workflow that is not built: call .build().asNode() on it"
      : program === undefined
        ? `${value === null ? "null" : typeof value}: make one with node(id, handler)`
        : `workflow "${name}": pass its .asNode()`
  throw new SuperstepError("NODE_INVALID", `Workflow "${workflow}": expected a node, got ${what}.`)
}

function not<M>(condition: When<M> | undefined): When<M> {
  if (condition === undefined) return () => true
  return (message) => {
    const holds = condition(message)
    return typeof holds === "boolean" ? !holds : holds.then((later) => !later)
  }
}

function nodeSpec({ id, definition }: AnyNode): NodeSpec {
  const { kind, handlers, output, retry, timeout, concurrency, maxVisits, budget } = definition
  const { onError, description, nested, name, turns } = definition
  const input = handlers.map(({ schema }: BoundHandler) => jsonSchemaOf(schema, "input"))
  return {
    id,
    ...(name !== undefined && { name }),
    kind,
    // If one handler accepts anything, or its schema is unknown, the node's input is unknown.
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
    ...(turns !== undefined && { turns }),
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

function nodeWarnings({ id, definition }: AnyNode): Problem[] {
  const { warnings = [] } = definition
  return warnings.map((message) => ({ code: "SCHEMA_NOT_ENFORCED", message, nodes: [id] }))
}
