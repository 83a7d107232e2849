/** Which screen an address shows. The lists are in the first load; screens with graphs and charts come when they are opened. */
import { type ComponentType, lazy, Suspense } from "react"
import { Route, Switch, useLocation } from "wouter"
import { Boundary } from "./frame/boundary.tsx"
import { DESTINATIONS } from "./frame/destinations.ts"
import { Bar } from "./frame/frame.tsx"
import { Home } from "./home/home.tsx"
import { Inbox } from "./inbox/inbox.tsx"
import { Runs } from "./runs/runs.tsx"
import { LinkButton } from "./ui/button.tsx"
import { Empty, Loading } from "./ui/states.tsx"

type Screen = ComponentType<{ readonly params: Readonly<Record<string, string>> }>

const ROUTES: readonly (readonly [path: string, screen: Screen])[] = [
  ["/", Home],
  ["/runs", Runs],
  ["/runs/:run", lazy(() => import("./run/run.tsx"))],
  ["/inbox", Inbox],
  ["/workflows", lazy(() => import("./workflows/workflows.tsx"))],
  ["/workflows/:workflow", lazy(() => import("./definitions/workflow.tsx"))],
  ["/schedules", lazy(() => import("./schedules/schedules.tsx"))],
  ["/costs", lazy(() => import("./costs/costs.tsx"))],
  ["/knowledge", lazy(() => import("./knowledge/knowledge.tsx"))],
  ["/settings", lazy(() => import("./settings/settings.tsx"))],
  ["/compare", lazy(() => import("./compare/compare.tsx"))],
]

export function Screens() {
  const [here] = useLocation()
  // A screen on its way has the bar already: nothing moves when it arrives.
  const bar = <Bar trail={[{ name: DESTINATIONS.find(({ href }) => href === here)?.name ?? "" }]} />
  return (
    <Boundary key={here} bar={bar}>
      <Suspense
        fallback={
          <>
            {bar}
            <Loading lines={12} />
          </>
        }
      >
        <Switch>
          {ROUTES.map(([path, Screen]) => (
            <Route key={path} path={path}>
              {(params) => <Screen params={params as Record<string, string>} />}
            </Route>
          ))}
          <Route>
            <Bar trail={[{ name: "Not found" }]} />
            <Empty icon="search" title="There is no such page">
              <p>The address may have changed. Start from the list of runs.</p>
              <p>
                <LinkButton href="/runs">Open runs</LinkButton>
              </p>
            </Empty>
          </Route>
        </Switch>
      </Suspense>
    </Boundary>
  )
}
