import { once } from 'node:events';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';

/** Gets the first line of the reply, and the body of the job if there is one. */
export type OnReply = (line: string, body: string | undefined) => void;

const RESERVED = 'RESERVED ';
/** Answered entries leave the queue in batches of this size, because a removal moves all entries behind them. */
const ANSWERED_KEPT = 10_000;

/**
 * One connection to a beanstalkd with only what a client needs: one write for each tick, and replies in order. It has no
 * deadlines, no errors and no reconnects. All texts are Latin-1: one byte for each character.
 */
export class RawConnection {
  private unsent = '';
  private unread = '';
  private readonly waiting: OnReply[] = [];
  private next = 0;

  private constructor(private readonly socket: Duplex) {
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => this.read(text));
  }

  static async open(endpoint: string): Promise<RawConnection> {
    const [host, port] = endpoint.split(':');
    const socket = connect({ host, port: Number(port), noDelay: true });
    await once(socket, 'connect');
    return new RawConnection(socket);
  }

  /** Uses a stream that is already connected. */
  static over(stream: Duplex): RawConnection {
    return new RawConnection(stream);
  }

  /** `command` ends with CRLF, and includes the body of a put. */
  send(command: string, onReply: OnReply): void {
    if (this.unsent === '') process.nextTick(this.flush);
    this.unsent += command;
    this.waiting.push(onReply);
  }

  close(): void {
    this.socket.destroy();
  }

  private readonly flush = (): void => {
    this.socket.write(this.unsent, 'latin1');
    this.unsent = '';
  };

  private read(text: string): void {
    const all = this.unread + text;
    let from = 0;
    for (;;) {
      const end = all.indexOf('\r\n', from);
      if (end < 0) break;
      const line = all.slice(from, end);
      if (line.startsWith(RESERVED)) {
        const size = Number(line.slice(line.lastIndexOf(' ') + 1));
        const after = end + 2 + size + 2;
        if (all.length < after) break;
        from = after;
        this.waiting[this.next++]!(line, all.slice(end + 2, after - 2));
      } else {
        from = end + 2;
        this.waiting[this.next++]!(line, undefined);
      }
    }
    this.unread = all.slice(from);
    if (this.next >= ANSWERED_KEPT) {
      this.waiting.splice(0, this.next);
      this.next = 0;
    }
  }
}
