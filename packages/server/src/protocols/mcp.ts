/**
 * The Model Context Protocol at /mcp: each workflow is a tool. What a tool is and does is in `@superstep/mcp`; this is who may
 * call it. That package is optional: it is loaded with the first request.
 */
import { createRoute, type OpenAPIHono } from "@hono/zod-openapi"
import { type StoredRun, SuperstepError, type Workflow } from "@superstep/engine"
import { importOptional } from "@superstep/engine/packages"
import type { McpEndpoint, RunAccess } from "@superstep/mcp/endpoint"
import type { Context } from "hono"
import { type Env, maySee, needs, type Principal, principalOf, visibleRun } from "../access.ts"
import { checkBudget } from "../auth/key-usage.ts"
import { originRefusal } from "../protection.ts"
import { startOptions } from "../runs.ts"
import { failure, jsonRpcBody } from "../schemas.ts"
import type { Services } from "../services.ts"

type McpPackage = typeof import("@superstep/mcp/endpoint")

const PACKAGE = { name: "@superstep/mcp/endpoint", neededBy: "The route /mcp" }

export function addMcpRoutes(app: OpenAPIHono<Env>, services: Services): void {
  let opened: Promise<{ readonly mcp: McpPackage; readonly endpoint: McpEndpoint }> | undefined
  const open = async () => {
    const mcp = await importOptional<McpPackage>(
      PACKAGE,
      (name) => import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ name),
    )
    const endpoint = mcp.mcpEndpoint({ shared: services.runtime.store.records })
    // Pending calls get their answer first.
    const close = () => setImmediate(() => endpoint.close().catch(services.report))
    if (services.drain.aborted) close()
    else services.drain.addEventListener("abort", close, { once: true })
    return { mcp, endpoint }
  }

  const handle = async (c: Context<Env>): Promise<Response> => {
    const refusal = originRefusal(c.req.raw, services)
    if (refusal !== undefined) return refusal
    const principal = principalOf(c)
    opened ??= open()
    const { mcp, endpoint } = await opened.catch((error) => {
      opened = undefined
      throw error
    })
    const workflows = (await services.catalog.list()).filter(({ name }) => maySee(principal, name))
    const tools = mcp.servedTools(workflows as unknown as readonly Workflow[], accessOf(c, services))
    return await endpoint.fetch(c.req.raw, { id: clientId(principal), tools })
  }

  const responses = {
    200: { description: "A message of JSON-RPC, or a stream of them." },
    403: failure("The role, or the origin of the page, is not allowed."),
    501: failure("@superstep/mcp is not installed."),
  }
  app.openapi(
    createRoute({
      method: "post",
      path: "/mcp",
      ...needs("operator"),
      summary: "Model Context Protocol: call workflows as tools",
      description: "Streamable HTTP, in the revisions 2025-11-25 and 2026-07-28 and earlier ones.",
      ...jsonRpcBody(["tools/call", "tools/list", "ping"], ["name", "arguments"]),
      responses: { ...responses, 202: { description: "Accepted: a notification, or an answer." } },
    }),
    handle,
  )
  app.openapi(
    createRoute({
      method: "get",
      path: "/mcp",
      ...needs("operator"),
      summary: "Model Context Protocol: messages of a session, up to revision 2025-11-25",
      responses,
    }),
    handle,
  )
  app.openapi(
    createRoute({
      method: "delete",
      path: "/mcp",
      ...needs("operator"),
      summary: "Model Context Protocol: end a session, and cancel its calls",
      responses,
    }),
    handle,
  )
}

/** A client with other rights is another client: it does not get into sessions of this one. */
function clientId({ id, tenant, role, workflows }: Principal): string {
  return JSON.stringify([id, tenant, role, workflows])
}

function accessOf(c: Context<Env>, services: Services): RunAccess {
  const principal = principalOf(c)
  const { runtime, drain, report } = services
  return {
    runtime,
    by: principal.id,
    closing: drain,
    report,
    async startOptions() {
      await checkBudget(runtime, principal)
      return startOptions(principal, {})
    },
    async find(runId) {
      const row: StoredRun = await visibleRun(c, services, runId)
      if ((await services.catalog.of(row)) !== undefined) return row
      throw new SuperstepError("RUN_UNKNOWN", `There is no run "${runId}".`, { run: runId })
    },
  }
}
