/**
 * Mistaken definitions: valid ones of each dialect, with one change each. `▸` marks where the problem is expected. What
 * is expected follows from the change, not from what the loader says.
 */

export type Base = "steps" | "rows" | "executor" | "agents"

/** Valid definitions. Every field of theirs is written once, so that a change is unambiguous. */
export const BASES: Readonly<Record<Base, string>> = {
  steps: `name: news
agents:
  writer:
    model: offline
    description: Writes.
    instruction: Write well.
    max_iterations: 5
    add_date: true
    on_limit: fail
    sub_agents: [critic]
    toolsets:
      - type: fetch
        allowed_domains: [example.org]
  critic:
    model: local
    structured_output:
      name: verdict
      strict: true
      schema: { type: object, properties: { ok: { type: boolean } } }
models:
  local:
    provider: offline
    temperature: 0.5
    model: tiny
workflow:
  max_loop_iterations: 4
  steps:
    - type: agent
      id: draft
      name: writer
      timeout: 90s
      on_error: continue
      retry:
        max_attempts: 2
        backoff: fixed
    - type: parallel
      id: both
      steps:
        - { type: agent, id: left, name: critic }
        - { type: agent, id: right, name: writer, loop: false }
    - type: map
      id: each
      over: $steps.both.outputs
      concurrency: 2
      step: { type: agent, name: critic, prompt: "{{ $item }}" }
    - type: condition
      id: good
      condition: $steps.both.outputs.left.output.ok == true
      true:
        - type: human
          id: ask
          prompt: Send it?
          choices: [send, drop]
          to: editor
      false:
        - { type: goto, goto: draft }
    - type: wait
      id: paid
      signal: payment
      default: none
    - type: tool
      id: look
      tool: fetch
      args: { urls: [ "https://example.org" ] }
      toolset: { type: fetch }
    - type: team
      id: crew
      mode: group_chat
      agents: [writer, critic]
      max_rounds: 3
      terminate: $round > 2
    - type: agent
      id: last
      when: $steps.draft.output != ""
      name: writer
      flow:
        rateLimit: { max: 2, period: 1m }
flow:
  concurrency: 3
  tenant: $input
schedules:
  - id: daily
    cron: 0 8 * * *
    timeZone: Europe/Berlin
    jitter: 5m
    overlap: skip
`,
  rows: `id: desk
name: Help desk
isConversational: true
entrypointNodeId: router
nodes:
  - id: router
    workflowId: desk
    nodeType: AGENT
    nodeName: Router
    agentId: sorter
  - { id: billing, nodeType: AGENT, nodeName: Billing, agentId: clerk }
  - { id: tools, nodeType: TOOL_EXECUTOR, agentId: null }
edges:
  - id: e1
    workflowId: desk
    sourceNodeId: router
    targetNodeId: billing
    conditionType: CONDITIONAL
    conditionValue: Billing
  - { id: e2, sourceNodeId: router, targetNodeId: null, conditionType: CONDITIONAL, conditionValue: END }
  - { id: e3, sourceNodeId: billing, targetNodeId: tools, conditionType: CONDITIONAL, conditionValue: tools }
  - { id: e4, sourceNodeId: billing, targetNodeId: null, conditionType: ALWAYS, conditionValue: null }
agents:
  - { id: sorter, model: offline, prompt: Sort. }
  - id: clerk
    model: offline
    max_iterations: 4
    toolsets: [{ type: todo }]
limits:
  maxSteps: 20
  timeoutMs: 60000
`,
  executor: `id: report
entry: fan
exits: [finish]
nodes:
  - id: fan
    type: fanout
    branches: [news, prices]
  - id: news
    type: agent
    agent_id: reader
    prompt: Read {{ goal }}.
    outputs: { latest: found.news }
    result: latest
  - { id: prices, type: agent, agent_id: reader }
  - id: join
    type: merge
    strategy: custom_template
    template: "{{ news }} {{ prices }}"
  - id: again
    type: loop
    max_iters: 2
    loop_condition: state.found != "x"
  - id: note
    type: state
    update: { seen: "latest" }
  - id: hold
    type: wait
    signal: payment
    timeout: 5m
    default: none
  - id: choose
    type: conditional
    condition: state.seen == "x"
  - { id: other, type: decision, options: [both, hear], decide: "'both'" }
  - { id: both, type: parallel, nodes: [ask], aggregator: stitch }
  - { id: ask, type: agent, agent_id: reader }
  - { id: hear, type: tool, tool: think, toolset: { type: think }, args: { thought: "{{ latest }}" } }
  - { id: finish, type: agent, agent_id: reader }
edges:
  - { from_node: news, to_node: join }
  - { from_node: prices, to_node: join }
  - { from_node: join, to_node: again }
  - { from_node: again, to_node: note, condition: continue }
  - { from_node: note, to_node: again }
  - { from_node: again, to_node: hold, condition: exit }
  - from_node: hold
    to_node: choose
  - { from_node: choose, to_node: other, condition: state.seen == "y" }
  - { from_node: choose, to_node: finish }
  - { from_node: both, to_node: finish }
  - { from_node: hear, to_node: finish }
agents:
  reader:
    model: offline
    instruction: Read.
limits:
  max_steps: 50
  timeout_seconds: 30
  max_iters: 5
  max_parallel: 2
`,
  agents: `models:
  fast:
    provider: openai
    model: gpt-5-mini
    max_tokens: 500
providers:
  own:
    base_url: https://models.example.org
    token_key: OWN_KEY
agents:
  root:
    model: fast
    description: Leads.
    instruction: Lead.
    sub_agents: [helper]
    handoffs: [helper]
    num_history_items: 10
    welcome_message: Hello.
    commands: { hi: Say hi. }
    fallback: { models: [fast], retries: 2 }
    guardrails:
      - { name: short, on: output, expression: size($text) < 100, reason: too long }
    permissions: { allow: [read_file] }
    toolsets:
      - type: filesystem
        root: .
        readonly: true
      - type: script
        shell:
          greet: { cmd: echo hi, description: Greets. }
  helper:
    model: offline
    add_prompt_files: []
permissions:
  ask: [greet]
`,
}

export interface Mistake {
  readonly name: string
  readonly text: string
  /** Where the error is, and what it is. */
  readonly line: number
  readonly column: number
  readonly code: string | RegExp
  readonly suggestion?: string | undefined
}

/** Reads the mark, and removes it. */
function marked(name: string, text: string, code: Mistake["code"], suggestion?: string): Mistake {
  const at = text.indexOf("▸")
  if (at < 0 || text.indexOf("▸", at + 1) >= 0) throw new Error(`${name}: one mark is needed.`)
  const before = text.slice(0, at).split("\n")
  return {
    name,
    text: text.replace("▸", ""),
    line: before.length,
    column: (before.at(-1)?.length ?? 0) + 1,
    code,
    suggestion,
  }
}

/** Replaces a part of a base that occurs once. Without a mark, `place` is the text where the problem is expected. */
function changed(
  base: Base,
  from: string,
  to: string,
  code: Mistake["code"],
  suggestion?: string,
  place?: string,
): Mistake {
  const text = BASES[base]
  const at = text.indexOf(from)
  if (at < 0 || text.indexOf(from, at + 1) >= 0) throw new Error(`${base}: ${from} has to occur once.`)
  const name = `${base}: ${from.trim().split("\n")[0]} → ${to.trim().replace(/\s*\n\s*/g, " ⏎ ") || "nothing"}`
  const result = text.replace(from, () => to)
  return marked(name, place === undefined ? result : result.replace(place, `▸${place}`), code, suggestion)
}

/** Keys that are names of the author's own, or inside of a JSON Schema, arguments or paths. */
const OWN = new Set(
  "writer critic local properties ok urls reader news prices seen latest thought fast own root helper hi greet fan".split(
    " ",
  ),
)
/** Keys that decide what the rest means: they have mistakes of their own. */
const DECIDING = new Set(["type", "nodeType", "entrypointNodeId", "nodes", "workflow", "agents", "mode"])

interface KeyAt {
  readonly key: string
  readonly start: number
  /** Where its value starts, if it is a scalar on the same line. */
  readonly value: number | undefined
  readonly end: number
}

/** The keys of a base, each where it occurs first. */
function keysOf(text: string): readonly KeyAt[] {
  const seen = new Map<string, KeyAt>()
  for (const found of text.matchAll(
    /(?<=^|[\s{])([A-Za-z_]+):(?: ([^\n{}[\],"]+?)(?=,| \}|\n)|(?=[\s{]))/gm,
  )) {
    const [whole, key = "", value] = found
    if (seen.has(key) || OWN.has(key) || DECIDING.has(key)) continue
    // A name of the author's own is a key with a mapping below it.
    const start = found.index
    seen.set(key, {
      key,
      start,
      value: value === undefined ? undefined : start + whole.length - value.length,
      end: start + whole.length,
    })
  }
  return [...seen.values()]
}

/** Every field misspelt: the last letter is doubled. */
export function misspelt(base: Base): readonly Mistake[] {
  const text = BASES[base]
  return keysOf(text).map(({ key, start }) => {
    const wrong = `${key}${key.at(-1)}`
    const written = `${text.slice(0, start)}▸${wrong}${text.slice(start + key.length)}`
    return marked(`${base}: ${key} misspelt`, written, "UNKNOWN_FIELD", key)
  })
}

/** Every scalar replaced by a list of mappings, which no field takes. */
export function mistyped(base: Base): readonly Mistake[] {
  const text = BASES[base]
  // These take any value.
  const any = new Set(["default", "input"])
  return keysOf(text).flatMap(({ key, value, end }) => {
    if (value === undefined || any.has(key)) return []
    const written = `${text.slice(0, value)}▸[{ a: 1 }]${text.slice(end)}`
    return [marked(`${base}: ${key} is a list`, written, /^(WRONG_TYPE|NOT_ONE_OF)$/)]
  })
}

/** Mistakes in what the fields say: base | from | to | code | suggestion | place. ⏎ is a line break. */
const WRITTEN = `
# Types.
steps | - type: wait | - type: ▸wiat | UNKNOWN_TYPE | wait
steps | - type: parallel | - type: ▸paralel | UNKNOWN_TYPE | parallel
steps | - type: condition | - type: ▸conditional | UNKNOWN_TYPE | condition
steps | - type: agent⏎      id: draft | - type: ▸llm⏎      id: draft | UNKNOWN_TYPE
steps |     - type: wait⏎      id: paid |     - ▸id: paid | UNKNOWN_TYPE
steps | mode: group_chat | mode: ▸groupchat | UNKNOWN_MODE | group_chat
steps | mode: group_chat | mode: ▸deep | UNKNOWN_MODE
steps | - type: fetch⏎ | - type: ▸fecth⏎ | NOT_ONE_OF | fetch
rows | nodeType: AGENT⏎ | nodeType: ▸AGNT⏎ | UNKNOWN_TYPE | AGENT
rows | nodeType: TOOL_EXECUTOR | nodeType: ▸TOOL_EXECUTER | UNKNOWN_TYPE | TOOL_EXECUTOR
rows | nodeType: TOOL_EXECUTOR | nodeType: ▸Robot | UNKNOWN_TYPE
rows |     nodeType: AGENT⏎ |     ▸nodeTyp: AGENT⏎ | UNKNOWN_FIELD | nodeType
rows |   - id: router⏎    workflowId: desk⏎    nodeType: AGENT⏎ |   - ▸id: router⏎    workflowId: desk⏎ | UNKNOWN_TYPE
executor | type: fanout | type: ▸fan_out | UNKNOWN_TYPE | fanout
executor | type: merge | type: ▸join | UNKNOWN_TYPE
executor | type: loop | type: ▸lopp | UNKNOWN_TYPE | loop
agents | type: filesystem | type: ▸filesytem | NOT_ONE_OF | filesystem
# Names of the top.
steps | workflow:⏎ | ▸workfow:⏎ | UNKNOWN_FIELD | workflow
steps | ⏎agents:⏎ | ⏎▸agent:⏎ | UNKNOWN_FIELD | agents
rows | ⏎nodes:⏎ | ⏎▸node:⏎ | UNKNOWN_FIELD | nodes
executor | ⏎nodes:⏎ | ⏎▸nodess:⏎ | UNKNOWN_FIELD | nodes
rows | entrypointNodeId: | ▸entryPointNodeId: | UNKNOWN_FIELD | entrypointNodeId
# Booleans, as YAML 1.1 and people write them.
steps | loop: false | loop: ▸no | WRONG_TYPE | false
steps | add_date: true | add_date: ▸yes | WRONG_TYPE | true
steps | strict: true | strict: ▸on | WRONG_TYPE | true
steps | strict: true | strict: ▸1 | WRONG_TYPE | true
steps |       true:⏎ |       ▸yes:⏎ | UNKNOWN_FIELD | true
steps |       false:⏎ |       ▸no:⏎ | UNKNOWN_FIELD | false
steps |       true:⏎ |       ▸on:⏎ | UNKNOWN_FIELD | true
rows | isConversational: true | isConversational: ▸Yes | WRONG_TYPE | true
agents | readonly: true | readonly: ▸"off" | WRONG_TYPE | false
# Numbers.
steps | max_iterations: 5 | max_iterations: ▸-1 | OUT_OF_RANGE
steps | max_iterations: 5 | max_iterations: ▸five | WRONG_TYPE
steps | max_iterations: 5 | max_iterations: ▸"5" | WRONG_TYPE | 5
steps | max_iterations: 5 | max_iterations: ▸2.5 | WRONG_TYPE
steps | max_attempts: 2 | max_attempts: ▸-2 | OUT_OF_RANGE
steps | max_loop_iterations: 4 | max_loop_iterations: ▸0 | OUT_OF_RANGE
steps | concurrency: 2 | concurrency: ▸0 | OUT_OF_RANGE
steps | concurrency: 3 | concurrency: ▸0 | OUT_OF_RANGE
steps | max_rounds: 3 | max_rounds: ▸0 | OUT_OF_RANGE
rows | maxSteps: 20 | maxSteps: ▸0 | OUT_OF_RANGE
rows | timeoutMs: 60000 | timeoutMs: ▸60s | WRONG_TYPE
executor | max_iters: 2 | max_iters: ▸0 | OUT_OF_RANGE
executor | max_parallel: 2 | max_parallel: ▸1.5 | WRONG_TYPE
# Durations and times.
steps | timeout: 90s | timeout: ▸90sec | BAD_FORMAT | 90s
steps | timeout: 90s | timeout: ▸1d | BAD_FORMAT | 24h
steps | timeout: 90s | timeout: ▸soon | BAD_FORMAT
steps | timeout: 90s | timeout: ▸-5 | OUT_OF_RANGE
steps | period: 1m } | period: ▸1min } | BAD_FORMAT | 1m
steps | jitter: 5m | jitter: ▸5 minutes | BAD_FORMAT | 5m
steps | cron: 0 8 * * * | cron: ▸0 25 * * * | SCHEDULE_INVALID
steps | cron: 0 8 * * * | cron: ▸every day | SCHEDULE_INVALID
steps | timeZone: Europe/Berlin | timeZone: ▸Europe/Berln | SCHEDULE_INVALID
steps |     cron: 0 8 * * *⏎    timeZone: Europe/Berlin⏎ |     at: ▸tomorrow⏎ | BAD_FORMAT
executor | timeout: 5m | timeout: ▸5 min | BAD_FORMAT | 5m
steps | period: 1m } | period: ▸0 } | OUT_OF_RANGE
agents | { name: short, | { name: ▸"", | OUT_OF_RANGE
agents |           greet: { cmd: echo hi, |           ▸"gr eet": { cmd: echo hi, | BAD_KEY
# One of several words.
steps | backoff: fixed | backoff: ▸exponentail | NOT_ONE_OF | exponential
steps | on_error: continue | on_error: ▸ignore | NOT_ONE_OF
steps | on_limit: fail | on_limit: ▸anser | NOT_ONE_OF | answer
steps | overlap: skip | overlap: ▸skipp | NOT_ONE_OF | skip
rows | conditionType: CONDITIONAL⏎ | conditionType: ▸conditional⏎ | NOT_ONE_OF | CONDITIONAL
executor | strategy: custom_template | strategy: ▸custom | NOT_ONE_OF
executor | aggregator: stitch | aggregator: ▸stich | NOT_ONE_OF | stitch
# References.
steps |       name: writer⏎      timeout |       name: ▸writter⏎      timeout | UNKNOWN_AGENT | writer
steps | sub_agents: [critic] | sub_agents: [▸critc] | UNKNOWN_AGENT | critic
steps | agents: [writer, critic] | agents: [writer, ▸critik] | UNKNOWN_AGENT | critic
steps | model: local⏎ | model: ▸locl⏎ | UNKNOWN_MODEL | local
steps | goto: draft | goto: ▸draf | UNKNOWN_STEP | draft
steps | goto: draft | goto: ▸99 | UNKNOWN_STEP
steps | over: $steps.both.outputs | over: ▸$steps.boht.outputs | UNKNOWN_STEP | both
steps | $steps.both.outputs.left.output.ok | ▸$steps.both.outputs.lft.output.ok | UNKNOWN_STEP | left
steps | $steps.draft.output !=  | ▸$step.draft.output !=  | UNKNOWN_NAME | $steps
steps | $steps.draft.output !=  | ▸$steps.draft.ouput !=  | UNKNOWN_NAME | output
steps | prompt: Send it? | prompt: "Send {{ ▸$vars.what }}?" | UNKNOWN_VARIABLE
steps | prompt: Send it? | prompt: "Send {{ ▸$item }}?" | UNKNOWN_NAME
steps | $round > 2 | ▸$rounds > 2 | UNKNOWN_NAME | $round
steps | tenant: $input | tenant: ▸$steps.draft.output | UNKNOWN_NAME
rows | entrypointNodeId: router | entrypointNodeId: ▸routr | ENTRY_UNKNOWN | router
rows | sourceNodeId: router⏎ | sourceNodeId: ▸ruter⏎ | EDGE_UNKNOWN_NODE | router
rows | targetNodeId: billing⏎ | targetNodeId: ▸biling⏎ | EDGE_UNKNOWN_NODE | billing
rows | agentId: clerk | agentId: ▸clrk | UNKNOWN_AGENT | clerk
rows |     workflowId: desk⏎    nodeType |     workflowId: ▸dsk⏎    nodeType | OTHER_WORKFLOW | desk
executor | entry: fan⏎ | entry: ▸fann⏎ | ENTRY_UNKNOWN | fan
executor | exits: [finish] | exits: [▸finsh] | EXIT_UNKNOWN | finish
executor | branches: [news, prices] | branches: [news, ▸pricess] | UNKNOWN_NODE | prices
executor | to_node: choose⏎ | to_node: ▸chose⏎ | EDGE_UNKNOWN_NODE | choose
executor | options: [both, hear] | options: [both, ▸heer] | UNKNOWN_NODE | hear
executor | nodes: [ask] | nodes: [▸asc] | UNKNOWN_NODE | ask
executor | agent_id: reader⏎    prompt | agent_id: ▸readr⏎    prompt | UNKNOWN_AGENT | reader
executor | "{{ news }} {{ prices }}" | "{{ news }} {{ ▸pricess }}" | PLACEHOLDER_UNFILLED | prices
executor | condition: state.seen == "y" } | condition: ▸outputs.notes == "y" } | UNKNOWN_NODE | note
agents | model: fast⏎ | model: ▸fst⏎ | UNKNOWN_MODEL | fast
agents | sub_agents: [helper] | sub_agents: [▸helpr] | UNKNOWN_AGENT | helper
agents | handoffs: [helper] | handoffs: [▸helpers] | UNKNOWN_AGENT | helper
agents | { models: [fast],  | { models: [▸fastt],  | UNKNOWN_MODEL | fast
# Expressions.
steps | condition: $steps.both.outputs.left.output.ok == true | condition: $steps.draft.output ==▸ | EXPRESSION_INVALID
steps | $steps.draft.output !=  | $steps.draft.output !=▸=  | EXPRESSION_INVALID
steps | prompt: "{{ $item }}" | prompt: "▸{{ $item" | EXPRESSION_INVALID
executor | loop_condition: state.found != "x" | loop_condition: ▸(state.found != "x" | EXPRESSION_INVALID
executor | decide: "'both'" | decide: "▸'both" | EXPRESSION_INVALID
executor | outputs: { latest: found.news } | outputs: { latest: ▸found..news } | EXPRESSION_INVALID
agents | expression: size($text) < 100 | expression: ▸$txt == "" | UNKNOWN_NAME | $text
# Used twice, or both ways.
steps |       id: paid⏎ |       id: ▸draft⏎ | DUPLICATE_STEP
steps |       id: draft⏎ |       id: draft⏎      ▸id: again⏎ | DUPLICATE_KEY
steps |       id: paid⏎ |       id: ▸pa/id⏎ | STEP_ID_INVALID
steps | agents: [writer, critic] | agents: [critic, ▸critic] | TEAM_INVALID
steps |   - id: daily⏎ |   - { id: daily, every: 1h }⏎  - id: ▸daily⏎ | SCHEDULE_INVALID
steps |       id: each⏎ |       id: ▸draft⏎ | DUPLICATE_STEP
steps |       id: both⏎ |       id: ▸draft⏎ | DUPLICATE_STEP
rows |   - { id: billing,  |   - { id: ▸router,  | DUPLICATE_NODE
rows |   - { id: e2,  |   - { id: ▸e1,  | DUPLICATE_EDGE
rows |   - id: clerk⏎ |   - id: ▸sorter⏎ | DUPLICATE_AGENT
rows | conditionValue: END } | conditionValue: ▸Billing } | TWO_SAME_VALUE
rows | conditionType: CONDITIONAL, conditionValue: tools } | conditionType: ALWAYS, conditionValue: null } | TWO_ALWAYS |  | ALWAYS, conditionValue: null }⏎agents
executor |   - { id: prices,  |   - { id: ▸news,  | DUPLICATE_NODE
executor | nodes: [ask] | nodes: [ask, ▸ask] | NODE_INVALID
# Fields that do not go together.
steps |       signal: payment⏎ |       signal: payment⏎      ▸over: $input⏎ | FIELD_NOT_FOR_TYPE
steps |       max_rounds: 3⏎ |       ▸max_stalls: 3⏎ | FIELD_NOT_FOR_TYPE
steps |       concurrency: 2⏎ |       concurrency: 2⏎      steps: [{ type: agent, name: critic }]⏎ | FIELD_NOT_FOR_TYPE |  | step: {
steps |   concurrency: 3⏎ |   throttle: { period: 1m }⏎  ▸debounce: { period: 1m }⏎ | FLOW_INVALID
rows |     nodeName: Router⏎ |     nodeName: Router⏎    ▸branches: [billing]⏎ | FIELD_NOT_FOR_TYPE
rows | agentId: null } | agentId: ▸clerk } | FIELD_NOT_FOR_TYPE
executor |     signal: payment⏎ |     signal: payment⏎    ▸file: a.yaml⏎ | FIELD_NOT_FOR_TYPE
executor | update: { seen: "latest" } | update: { seen: "latest" }⏎    read: seen | NODE_INVALID |  | note⏎
# Missing.
steps |     - type: wait⏎      id: paid⏎      signal: payment⏎ |     - ▸type: wait⏎      id: paid⏎ | MISSING_FIELD
steps |           prompt: Send it?⏎ |  | MISSING_FIELD |  | type: human
steps |       toolset: { type: fetch }⏎ |  | MISSING_FIELD |  | type: tool⏎
steps |       mode: group_chat⏎ |  | MISSING_FIELD |  | type: team
steps |     provider: offline⏎ |  | MISSING_FIELD |  | local:⏎
steps |       tool: fetch⏎ |       ▸call_this: fetch⏎ | UNKNOWN_FIELD
rows |     agentId: sorter⏎ |  | AGENT_MISSING |  | id: router
rows |     agentId: sorter⏎ |     ▸who: sorter⏎ | UNKNOWN_FIELD
rows |     sourceNodeId: router⏎ |  | MISSING_FIELD |  | id: e1
rows |     sourceNodeId: router⏎ |     ▸start: router⏎ | UNKNOWN_FIELD
rows |     targetNodeId: billing⏎ |  | MISSING_FIELD |  | id: e1
rows |     conditionValue: Billing⏎ |  | VALUE_MISSING |  | id: e1
rows | entrypointNodeId: router⏎ |  | MISSING_FIELD |  | id: desk
executor | exits: [finish]⏎ |  | NO_EXIT |  | id: report
executor |     branches: [news, prices]⏎ |  | NODE_INVALID |  | fan⏎    type
executor |     signal: payment⏎ |  | NODE_INVALID |  | hold⏎    type
executor |     template: "{{ news }} {{ prices }}"⏎ |  | NODE_INVALID |  | join⏎    type
executor | tool: think,  |  | NODE_INVALID |  | hear, type
executor | tool: think,  | ▸function: think,  | UNKNOWN_FIELD
# Routes.
executor |   - { from_node: both, to_node: finish }⏎ |   - { from_node: both, to_node: finish }⏎  - { from_node: prices, to_node: prices }⏎ | CYCLE |  | prices, type
executor |   - { from_node: note, to_node: again }⏎ |  | LOOP_EDGES |  | again⏎    type
executor | condition: continue } | condition: ▸maybe } | LOOP_EDGES
`

export const MISTAKES: readonly Mistake[] = WRITTEN.split("\n").flatMap((line) => {
  if (line === "" || line.startsWith("#")) return []
  const [base, from = "", to = "", code = "", suggestion, place] = line.replaceAll("⏎", "\n").split(" | ")
  return [changed(base as Base, from, to, code, suggestion || undefined, place)]
})
