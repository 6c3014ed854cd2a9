// The socket to the server: comes back by itself, and keeps every edit until it is answered.

import { type FromPage, type MakeEdit, type Redo, type ToPage, type Undo } from "../messages";

export type LinkState = "open" | "waiting" | "refused";

type Answered = MakeEdit | Undo | Redo;
export type Change = Omit<MakeEdit, "id"> | Omit<Undo, "id"> | Omit<Redo, "id">;

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
  private readonly unanswered = new Map<string, Answered>();
  private serial = 0;

  constructor(
    private readonly onMessage: (message: ToPage) => void,
    private readonly onState: (state: LinkState, unsaved: number) => void,
  ) {
    this.connect();
  }

  get isOpen(): boolean {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** Sends what needs no keeping; lost where the socket is closed. */
  send(message: FromPage): void {
    if (this.isOpen) this.socket?.send(JSON.stringify(message));
  }

  /** Sends a change, and again after a break until the server has answered it. */
  change(message: Change): void {
    const id = `${token.slice(0, 4)}-${Date.now().toString(36)}-${++this.serial}`;
    const kept = { ...message, id };
    this.unanswered.set(id, kept);
    this.send(kept);
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
      for (const change of this.unanswered.values()) this.send(change);
      this.tell();
    }
    if ((message.type === "changed" || message.type === "problem") && message.id) {
      this.unanswered.delete(message.id);
      this.tell();
    }
    this.onMessage(message);
  }

  private closed(event: CloseEvent): void {
    this.failures += 1;
    const hopeless = event.code === REFUSED || (!this.opened && this.failures >= TRIES);
    this.onState(hopeless ? "refused" : "waiting", this.unanswered.size);
    if (hopeless) return;
    setTimeout(() => this.connect(), this.wait);
    this.wait = Math.min(LONGEST_WAIT, 2 * this.wait);
  }

  private tell(): void {
    this.onState(this.isOpen ? "open" : "waiting", this.unanswered.size);
  }
}
