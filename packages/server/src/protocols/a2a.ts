/**
 * The Agent2Agent protocol, versions 1.0 and 0.3, over JSON-RPC. Each workflow is an agent with an address and a card of its
 * own: a message of A2A names no skill, so the address has to say which workflow it is for.
 */
import { AgentCard } from "@a2a-js/sdk"
import { isLegacyJsonRpcMethod } from "@a2a-js/sdk/compat/v0_3"
import { LegacyJsonRpcTransportHandler } from "@a2a-js/sdk/compat/v0_3/server"
import { JsonRpcTransportHandler, ServerCallContext, validateVersion } from "@a2a-js/sdk/server"
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { SuperstepError } from "@superstep/engine"
import type { Context } from "hono"
import { type Env, maySee, needs, principalOf } from "../access.ts"
import type { StartedWorkflow } from "../catalog.ts"
import { EVENT_STREAM, streamResponse, withHeartbeats } from "../events.ts"
import { visibleWorkflow } from "../runs.ts"
import { failure, jsonRpcBody } from "../schemas.ts"
import type { Services } from "../services.ts"
import { A2aAgent } from "./a2a-agent.ts"
import { pushNotificationsOf } from "./a2a-push.ts"

const CARD_PATH = "/.well-known/agent-card.json"
const CURRENT = "1.0"
const LEGACY = "0.3"
const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600

const METHODS = [
  "ListTaskPushNotificationConfigs",
  "GetTaskPushNotificationConfig",
  "CreateTaskPushNotificationConfig",
  "DeleteTaskPushNotificationConfig",
  "SendMessage",
  "SendStreamingMessage",
  "GetTask",
  "ListTasks",
  "CancelTask",
  "SubscribeToTask",
]

const params = z.object({ workflow: z.string() })
const card = {
  200: { description: "The card, with the fields of both versions." },
  404: failure("No such workflow."),
}

export function addA2aRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const push = pushNotificationsOf(services)
  push.begin(services)

  app.openapi(
    createRoute({
      method: "get",
      path: CARD_PATH,
      ...needs("viewer"),
      summary: "A2A: the card of the only agent",
      description:
        "With several workflows, each has its own card at `/a2a/{workflow}/.well-known/agent-card.json`.",
      responses: card,
    }),
    async (c) => {
      const visible = (await services.catalog.list()).filter(({ name }) => maySee(principalOf(c), name))
      const [only, another] = visible
      if (only !== undefined && another === undefined) return c.json(cardJson(cardOf(c, services, only)), 200)
      const text = `This server has ${visible.length} agents, each with its own card: /a2a/{workflow}${CARD_PATH}.`
      throw new SuperstepError("WORKFLOW_UNKNOWN", text)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: `/a2a/{workflow}${CARD_PATH}`,
      ...needs("viewer"),
      summary: "A2A: the card of a workflow",
      request: { params },
      responses: card,
    }),
    async (c) => {
      const workflow = await visibleWorkflow(principalOf(c), services, c.req.valid("param").workflow)
      return c.json(cardJson(cardOf(c, services, workflow)), 200)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/a2a/{workflow}",
      ...needs("operator"),
      summary: "A2A: send messages to a workflow, and follow its tasks",
      description: "JSON-RPC of A2A 1.0, or of 0.3 without the header `A2A-Version`.",
      ...jsonRpcBody(METHODS, ["taskId", "message"]),
      request: { params },
      responses: {
        200: { description: "A response of JSON-RPC, or a stream of them." },
        400: { description: "No JSON." },
        404: failure("No such workflow."),
      },
    }),
    async (c) => {
      const workflow = await visibleWorkflow(principalOf(c), services, c.req.valid("param").workflow)
      return await handle(c, services, workflow, push)
    },
  )
}

async function handle(
  c: Context<Env>,
  services: Services,
  workflow: StartedWorkflow,
  push: ReturnType<typeof pushNotificationsOf>,
): Promise<Response> {
  let body: unknown
  try {
    body = JSON.parse(await c.req.text())
  } catch {
    return c.json(refused(null, PARSE_ERROR, "The body is not JSON."), 400)
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return c.json(refused(null, INVALID_REQUEST, "The body is not a single request."), 400)
  }
  const { method, id } = body as { method?: unknown; id?: unknown }
  const isLegacyMethod = typeof method === "string" && isLegacyJsonRpcMethod(method)
  const version = c.req.header("a2a-version") ?? (isLegacyMethod ? LEGACY : CURRENT)
  const left = new AbortController()
  const agent = { workflow, card: cardOf(c, services, workflow) }
  const handler = new A2aAgent(c, services, agent, push, AbortSignal.any([c.req.raw.signal, left.signal]))
  const isLegacy = version === LEGACY
  const errorOf = isLegacy
    ? LegacyJsonRpcTransportHandler.mapToLegacyJSONRPCError
    : JsonRpcTransportHandler.mapToJSONRPCError
  const failed = (error: unknown) => ({ jsonrpc: "2.0", id: id ?? null, error: errorOf(error) })
  try {
    validateVersion(version, agent.card, "JSONRPC")
    const context = new ServerCallContext({
      requestedVersion: version,
      user: { isAuthenticated: !services.isOpen, userName: principalOf(c).id },
    })
    const transport = isLegacy
      ? new LegacyJsonRpcTransportHandler(handler)
      : new JsonRpcTransportHandler(handler)
    const handled = await transport.handle(body as Record<string, unknown>, context)
    if (!(Symbol.asyncIterator in handled)) return c.json(handled as object, 200)
    const response = handled as AsyncGenerator<object, void>
    // What is wrong with the request is an answer, not a stream.
    const first = await response.next()
    async function* frames() {
      if (!first.done) yield frame(first.value)
      try {
        for await (const event of withHeartbeats(response, services.heartbeat)) {
          yield event === undefined ? ": \n\n" : frame(event)
        }
      } catch (error) {
        yield frame(failed(error))
      }
    }
    return streamResponse(
      c.req.raw.signal,
      (client) => {
        client.addEventListener("abort", () => left.abort(), { once: true })
        return frames()
      },
      EVENT_STREAM,
    )
  } catch (error) {
    return c.json(failed(error), 200)
  }
}

function frame(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`
}

function refused(id: null, code: number, message: string) {
  return { jsonrpc: "2.0", id, error: { code, message } }
}

function cardOf(c: Context<Env>, { address }: Services, workflow: StartedWorkflow): AgentCard {
  const { name } = workflow
  const { description = `Runs the workflow "${name}".` } = workflow as { description?: string | undefined }
  const url = address(c.req.raw, `/a2a/${encodeURIComponent(name)}`)
  const modes = ["text/plain", "application/json"]
  const at = (protocolVersion: string) => ({ url, protocolBinding: "JSONRPC", tenant: "", protocolVersion })
  return {
    name,
    description,
    version: "1",
    supportedInterfaces: [at(CURRENT), at(LEGACY)],
    provider: undefined,
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: false, extensions: [] },
    securitySchemes: {
      bearer: {
        scheme: {
          $case: "httpAuthSecurityScheme",
          value: { scheme: "Bearer", bearerFormat: "", description: "A key of this server." },
        },
      },
    },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: modes,
    defaultOutputModes: modes,
    skills: [
      {
        id: name,
        name,
        description,
        tags: [],
        examples: [],
        inputModes: [],
        outputModes: [],
        securityRequirements: [],
      },
    ],
    signatures: [],
  }
}

/** One document for clients of both versions: each reads its own fields. */
function cardJson(current: AgentCard): object {
  const [{ url }] = current.supportedInterfaces as [AgentCard["supportedInterfaces"][number]]
  const json = AgentCard.toJSON(current) as { securitySchemes: { bearer: object }; capabilities: object }
  return {
    ...json,
    protocolVersion: "0.3.0",
    url,
    preferredTransport: "JSONRPC",
    securitySchemes: {
      bearer: { ...json.securitySchemes.bearer, type: "http", scheme: "bearer" },
    },
    security: [{ bearer: [] }],
    supportsAuthenticatedExtendedCard: false,
  }
}
