/** Settings: keys, webhooks out and hooks in, the store and retention, the audit log, and how the studio looks. */
import { useState } from "react"
import { useMe } from "../api/queries.ts"
import { serverUrl } from "../api/session.ts"
import { useAddress } from "../frame/address.ts"
import { Bar } from "../frame/frame.tsx"
import { chooseTheme, chosenTheme, type Theme } from "../frame/theme.ts"
import { Who } from "../frame/who.tsx"
import { Field, Select } from "../ui/field.tsx"
import parts from "../ui/parts.module.css"
import { Failure, Loading } from "../ui/states.tsx"
import { Tabs } from "../ui/tabs.tsx"
import { AuditLog } from "./audit.tsx"
import { Hooks } from "./hooks.tsx"
import { Keys } from "./keys.tsx"
import { SecretDialog } from "./new-secret.tsx"
import styles from "./settings.module.css"
import { Storage } from "./storage.tsx"
import { Webhooks } from "./webhooks.tsx"

const TABS = [
  { id: "keys", label: "Keys" },
  { id: "webhooks", label: "Webhooks" },
  { id: "hooks", label: "Hooks" },
  { id: "storage", label: "Storage" },
  { id: "audit", label: "Audit log" },
  { id: "studio", label: "Studio" },
] as const

export default function Settings() {
  const [params, setAddress] = useAddress()
  const tab = TABS.find(({ id }) => id === params.get("tab"))?.id ?? "keys"
  const me = useMe()
  return (
    <>
      <Bar trail={[{ name: "Settings" }]} />
      <Tabs
        label="Settings"
        tabs={TABS}
        selected={tab}
        onSelect={(id) => setAddress({ tab: id === "keys" ? undefined : id, hook: undefined })}
      />
      {/* What a key may see is decided by who uses it: without an answer to that, no tab has anything to show. */}
      {me.isError && me.data === undefined && <Failure error={me.error} retry={() => void me.refetch()} />}
      {me.isPending && <Loading lines={8} />}
      <div className={styles.settings} hidden={me.data === undefined}>
        {tab === "keys" && <Keys />}
        {tab === "webhooks" && <Webhooks />}
        {tab === "hooks" && <Hooks />}
        {tab === "storage" && <Storage />}
        {tab === "audit" && <AuditLog />}
        {tab === "studio" && <Studio />}
      </div>
      <SecretDialog />
    </>
  )
}

function Studio() {
  const { data: me } = useMe()
  const [theme, setTheme] = useState(chosenTheme)
  return (
    <div className={styles.studio}>
      <Field label="Theme" hint="Kept in this browser.">
        {(props) => (
          <Select
            {...props}
            label="Theme"
            value={theme}
            onChange={(value) => {
              chooseTheme(value as Theme)
              setTheme(value as Theme)
            }}
            options={[
              ["system", "Match the system"],
              ["light", "Light"],
              ["dark", "Dark"],
            ]}
          />
        )}
      </Field>
      <dl className={parts.facts}>
        <dt>Server</dt>
        <dd>
          <code>{serverUrl}</code>
        </dd>
        <dt>You are</dt>
        <dd>
          {me === undefined ? (
            "–"
          ) : me.authenticated ? (
            <Who id={me.id} />
          ) : (
            "anybody on this machine: the server has no keys"
          )}
        </dd>
        <dt>Role</dt>
        <dd>{me?.role ?? "–"}</dd>
        <dt>Tenant</dt>
        <dd>{me?.tenant ?? "all"}</dd>
        <dt>API</dt>
        <dd>
          <a className={styles.link} href={`${serverUrl}/docs`}>
            Documentation of this server
          </a>
        </dd>
      </dl>
    </div>
  )
}
