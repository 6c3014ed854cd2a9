// The socket to the server: comes back by itself, and keeps every edit until it is answered.

import { type FromPage, type MakeEdit, type Redo, type ToPage, type Undo } from "../messages";

export type LinkState = "open" | "waiting" | "refused";

/** A change without what the link adds: its id, and the revision that it goes on top of. */
export type Change =
  Omit<MakeEdit, "id" | "revision"> | Omit<Undo, "id" | "revision"> | Omit<Redo, "id" | "revision">;

const FIRST_WAIT = 250;
const LONGEST_WAIT = 4000;
const REFUSED = 1008;
const TRIES = 3;

export const token = new URLSearchParams(location.search).get("token") ?? "";

/** Address of something the server has, with the token that it asks for. */
export function address(path: string, query: Record<string, string | number> = {}): string {
  const url = new URL(path, location.href);
  url.search = "";
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  url.searchParams.set("token", token);
  return url.href;
}

export class Link {
  private socket: WebSocket | null = null;
  private wait = FIRST_WAIT;
  private failures = 0;
  private opened = false;
  /** Changes in their order; the first one is on its way, or will be when the server is back. */
  private queue: { id: string; change: Change }[] = [];
  private inFlight = false;
  /** Whether the state of a take has come over this socket. */
  private ready = false;
  private serial = 0;
  private readonly page = Math.random().toString(36).slice(2, 10);

  constructor(
    private readonly onMessage: (message: ToPage) => void,
    private readonly onState: (state: LinkState, unsaved: number) => void,
    private readonly revision: () => number,
  ) {
    this.connect();
    addEventListener("beforeunload", (event) => this.queue.length > 0 && event.preventDefault());
  }

  get isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** Sends what needs no keeping; lost where the socket is closed. */
  send(message: FromPage): void {
    if (this.isOpen) this.socket?.send(JSON.stringify(message));
  }

  /** Sends a change when those before it are answered, and again after a break. */
  change(change: Change): void {
    const id = `${this.page}-${++this.serial}`;
    this.queue.push({ id, change });
    this.flush();
  }

  /** The page shows this revision: what waits may go on top of it. */
  flush(): void {
    const next = this.queue[0];
    if (next !== undefined && this.ready && !this.inFlight) {
      this.inFlight = true;
      this.send({ ...next.change, id: next.id, revision: this.revision() } as FromPage);
    }
    this.tell();
  }

  private connect(): void {
    const socket = new WebSocket(address("/ws").replace(/^http/, "ws"));
    this.socket = socket;
    socket.addEventListener("message", (event) => this.receive(event));
    socket.addEventListener("close", (event) => this.closed(event));
  }

  private receive(event: MessageEvent<string>): void {
    const message = JSON.parse(event.data) as ToPage;
    if (message.type === "welcome") {
      this.wait = FIRST_WAIT;
      this.failures = 0;
      this.opened = true;
    }
    const answers = message.type === "changed" || message.type === "problem";
    if (answers && message.id !== "" && message.id === this.queue[0]?.id) {
      this.queue.shift();
      this.inFlight = false;
    }
    this.onMessage(message); // the revision is new now
    if (message.type === "opened") this.ready = true;
    if (answers || message.type === "opened") this.flush();
  }

  private closed(event: CloseEvent): void {
    this.failures += 1;
    this.inFlight = this.ready = false;
    const hopeless = event.code === REFUSED || (!this.opened && this.failures >= TRIES);
    this.onState(hopeless ? "refused" : "waiting", this.queue.length);
    if (hopeless) return;
    setTimeout(() => this.connect(), this.wait);
    this.wait = Math.min(LONGEST_WAIT, 2 * this.wait);
  }

  private tell(): void {
    this.onState(this.isOpen ? "open" : "waiting", this.queue.length);
  }
}
