/** Starts the studio: theme, session, routes. */
import { QueryClientProvider } from "@tanstack/react-query"
import { createRoot } from "react-dom/client"
import { Router } from "wouter"
import { queries, useIsSignedOut } from "./api/session.ts"
import { Frame } from "./frame/frame.tsx"
import { SignIn } from "./frame/sign-in.tsx"
import { applyTheme } from "./frame/theme.ts"
import { Screens } from "./routes.tsx"
import "./ui/tokens.css"

applyTheme()
const base = new URL(document.baseURI).pathname.replace(/\/$/, "")

function Studio() {
  if (useIsSignedOut()) return <SignIn />
  return (
    <Frame>
      <Screens />
    </Frame>
  )
}

createRoot(document.getElementById("root") as HTMLElement).render(
  <QueryClientProvider client={queries}>
    <Router base={base}>
      <Studio />
    </Router>
  </QueryClientProvider>,
)
