/**
 * The JSON Schema of a graph: one schema for each type of node, chosen by its `type` or `nodeType`. A graph is written as
 * rows (`nodeType`, `sourceNodeId`) or as the executor's JSON (`type`, `from_node`); editors offer the fields of the
 * spelling that the file uses, and accept what the checks accept.
 */
import {
  chosen,
  has,
  ifThen,
  isOneOf,
  type JsonSchema,
  jsonSchemaFor,
  kindSchema,
} from "../../document/index.ts"
import { graphShape, NODE_TYPES, type NodeType } from "./graph-shape.ts"
import { EXECUTOR_FIELDS, NODE_KINDS, nodeKind, ROW_FIELDS } from "./node-kinds.ts"

interface Spelling {
  readonly prefix: string
  readonly isChat: boolean
  /** The field with the type of a node. */
  readonly type: "nodeType" | "type"
  /** The fields of the other spelling. */
  readonly quiet: readonly string[]
}

const ROWS: Spelling = {
  prefix: "row",
  isChat: true,
  type: "nodeType",
  quiet: EXECUTOR_FIELDS,
}

const EXECUTOR: Spelling = {
  prefix: "node",
  isChat: false,
  type: "type",
  quiet: ROW_FIELDS,
}

export function graphJsonSchema(): Record<string, unknown> {
  const schema = jsonSchemaFor(graphShape, { id: "superstep-graph.json", title: "Superstep graph" })
  const { node = {}, edge = {}, ...others } = schema.definitions as Record<string, JsonSchema>
  const spellings = [ROWS, EXECUTOR]
  const definitions = spellings.flatMap((spelling) => [
    ...NODE_TYPES.map((type) => [`${spelling.prefix}-${type}`, nodeSchema(node, type, spelling)]),
    [spelling.prefix, anyNode(spelling)],
    [`${spelling.prefix}-edge`, edgeSchema(edge, spelling)],
  ])
  const { nodes, edges, ...properties } = schema.properties as Record<string, JsonSchema>
  const lists = (spelling: Spelling) => ({
    properties: {
      nodes: { ...nodes, items: reference(spelling.prefix) },
      edges: { ...edges, items: reference(`${spelling.prefix}-edge`) },
    },
  })
  return {
    ...schema,
    properties: { ...properties, nodes: listed(nodes), edges: listed(edges) },
    ...ifThen(isRows, lists(ROWS), lists(EXECUTOR)),
    definitions: { ...Object.fromEntries(definitions), ...others },
  }
}

/** The same decision as that of `readGraph`. */
const isRows: JsonSchema = {
  not: {
    anyOf: [
      { properties: { nodes: { contains: { required: ["type"] } } }, required: ["nodes"] },
      { properties: { edges: { contains: { required: ["from_node"] } } }, required: ["edges"] },
    ],
  },
  anyOf: [
    { required: ["entrypointNodeId"] },
    { properties: { nodes: { contains: { required: ["nodeType"] } } }, required: ["nodes"] },
  ],
}

function listed({ description }: JsonSchema = {}): JsonSchema {
  return { ...(description !== undefined && { description }), type: "array" }
}

function reference(name: string): JsonSchema {
  return { $ref: `#/definitions/${name}` }
}

/** The field has this type, in capitals or in small letters, as the checks accept it. */
function isType(field: string, ...types: readonly NodeType[]): JsonSchema {
  const names = types.map((type) => type.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`))
  return { properties: { [field]: { type: "string", pattern: `^(${names.join("|")})$` } }, required: [field] }
}

/** Editors offer the types as the spelling writes them. */
function typeProperty(isChat: boolean): JsonSchema {
  return {
    description: "The type of the node.",
    enum: NODE_TYPES.map((type) => (isChat ? type.toUpperCase() : type)),
    enumDescriptions: NODE_TYPES.map((type) => NODE_KINDS[type].about),
  }
}

function anyNode({ prefix, isChat, type: field }: Spelling): JsonSchema {
  const written = (...types: readonly NodeType[]): JsonSchema => {
    const byRow = isType("nodeType", ...types)
    return isChat
      ? byRow
      : { anyOf: [isType("type", ...types), { allOf: [{ not: { required: ["type"] } }, byRow] }] }
  }
  const unknown = ifThen(
    { not: written(...NODE_TYPES) },
    {
      required: [field],
      properties: { [field]: typeProperty(isChat) },
    },
  )
  const byType = chosen({}, [
    unknown,
    ...NODE_TYPES.map((type) => ifThen(written(type), reference(`${prefix}-${type}`))),
  ])
  return { title: "node", type: "object", ...ifThen(isHandoff, reference(`${prefix}-human_handoff`), byType) }
}

/** A node with this name and without an agent needs no type. */
const isHandoff: JsonSchema = {
  type: "object",
  not: { anyOf: [has("agentId"), has("agent_id")] },
  anyOf: [
    isOneOf("nodeName", ["human_handoff"]),
    { not: has("nodeName"), ...isOneOf("name", ["human_handoff"]) },
    { not: { anyOf: [has("nodeName"), has("name")] }, ...isOneOf("id", ["human_handoff"]) },
  ],
}

function nodeSchema(flat: JsonSchema, type: NodeType, { isChat, quiet }: Spelling): JsonSchema {
  const kind = nodeKind(type, isChat)
  // The first of several is the one that editors ask for.
  const required = (kind.required ?? []).map((one) =>
    typeof one === "string" || isChat ? one : one.toReversed(),
  )
  const title = `${isChat ? type.toUpperCase() : type} node`
  return kindSchema(flat, { ...kind, required: ["id", ...required] }, { title, quiet })
}

function edgeSchema(flat: JsonSchema, { isChat, quiet }: Spelling): JsonSchema {
  const fields = Object.keys(flat.properties as object)
  const [from, to] = [
    ["sourceNodeId", "from_node"],
    ["targetNodeId", "to_node"],
  ]
  return {
    ...kindSchema(
      flat,
      { about: "A route between two nodes.", fields },
      { title: "edge", quiet: isChat ? [...quiet, "condition"] : quiet },
    ),
    // A file with a `from_node` is not written as rows.
    ...(isChat
      ? { required: ["sourceNodeId"], anyOf: to?.map((name) => ({ required: [name] })) }
      : {
          allOf: [from, to].map((names) => ({
            anyOf: names?.toReversed().map((name) => ({ required: [name] })),
          })),
        }),
  }
}
