/** One workflow: how its runs do and a form that starts one, a chat with it, the text that defines it, and its versions. */
import { lazy, Suspense, useEffect, useState } from "react"
import { useMay } from "../api/queries.ts"
import { useAddress } from "../frame/address.ts"
import { Bar } from "../frame/frame.tsx"
import { LinkButton } from "../ui/button.tsx"
import { Chip } from "../ui/chip.tsx"
import { Empty, Failure, Loading } from "../ui/states.tsx"
import { Tabs } from "../ui/tabs.tsx"
import { ChatTab } from "./chat-tab.tsx"
import { newDefinition, whyReadOnly } from "./definition-model.ts"
import { useDefinition } from "./definition-queries.ts"
import { Overview } from "./overview.tsx"
import { Versions } from "./versions.tsx"

const Edit = lazy(() => import("./edit.tsx"))

const TABS = [
  { id: "overview", label: "Overview" },
  { id: "chat", label: "Chat" },
  { id: "definition", label: "Definition" },
  { id: "versions", label: "Versions" },
] as const
type TabId = (typeof TABS)[number]["id"]

export default function WorkflowScreen({ params }: { readonly params: Readonly<Record<string, string>> }) {
  const name = decodeURIComponent(params.workflow ?? "")
  return <Workflow key={name} name={name} />
}

function Workflow({ name }: { readonly name: string }) {
  const [address, setAddress] = useAddress()
  const tab = TABS.find(({ id }) => id === address.get("v"))?.id ?? "overview"
  const definition = useDefinition(name)
  const mayChange = useMay("author")
  const [typed, setTyped] = useState<string>()
  useEffect(() => {
    if (typed === undefined) return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    window.addEventListener("beforeunload", warn)
    return () => window.removeEventListener("beforeunload", warn)
  }, [typed])
  const isMissing = (definition.error as { readonly status?: number } | null)?.status === 404
  const template = address.get("new")
  const data = definition.data ?? (isMissing && template !== null ? newDefinition(name, template) : undefined)
  const show = (id: TabId) =>
    setAddress({ v: id === "overview" ? undefined : id, version: undefined, chat: undefined })
  return (
    <>
      <Bar
        trail={[{ name: "Workflows", href: "/workflows" }, { name }]}
        aside={
          data?.published !== undefined && (
            <Chip title="The version of new runs">version {data.published}</Chip>
          )
        }
      >
        <LinkButton href={`/runs?workflow=${encodeURIComponent(name)}`} icon="runs">
          Runs
        </LinkButton>
      </Bar>
      <Tabs
        label="Parts of the workflow"
        tabs={TABS.map((one) => ({ ...one, count: one.id === "versions" ? data?.latest : undefined }))}
        selected={tab}
        onSelect={show}
      />
      {tab === "overview" ? (
        <Overview name={name} definition={data} />
      ) : tab === "chat" ? (
        <ChatTab name={name} definition={data} />
      ) : data === undefined ? (
        definition.isError ? (
          <NoDefinition error={definition.error} retry={() => void definition.refetch()} />
        ) : (
          <Loading lines={12} />
        )
      ) : tab === "definition" ? (
        <Suspense fallback={<Loading lines={12} />}>
          <Edit definition={data} reason={whyReadOnly(data, mayChange)} typed={typed} onTyped={setTyped} />
        </Suspense>
      ) : (
        <Versions definition={data} reason={whyReadOnly(data, mayChange)} />
      )}
    </>
  )
}

/** Definitions belong to the server: a key of a tenant starts workflows, and does not see their texts. */
function NoDefinition({ error, retry }: { readonly error: unknown; readonly retry: () => void }) {
  if ((error as { readonly status?: number }).status !== 404) return <Failure error={error} retry={retry} />
  return (
    <Empty icon="lock" title="You cannot see this definition">
      <p>There is none with this name, or your key is for the runs of one tenant only.</p>
    </Empty>
  )
}
