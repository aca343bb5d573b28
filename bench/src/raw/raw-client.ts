import { IN_FLIGHT } from '../in-flight.js';
import { PAYLOAD_BYTES } from '../payload.js';
import { RawConnection } from './raw-connection.js';

const NODES = 3;
const TTR = 60;
const TUBE = 'raw';
/** Reserves in one batch, and batches in flight to each node. */
const BATCH = 256;
const BATCHES = 2;
/** Seconds: so long that each job is done before its backups surface. */
const BACKUP_DELAY = 3_600;

const PAYLOAD = 'x'.repeat(PAYLOAD_BYTES);

/**
 * A bare pipelined client. On three nodes it does only what the library does there for a job: it puts two backups, then the
 * primary that names them; it reserves the primary and deletes all three. No ledger, no checks, no due times. So its speed is
 * the limit for the library.
 */
export class RawClient {
  private constructor(
    private readonly nodes: readonly RawConnection[],
    private readonly endpoints: readonly string[],
  ) {}

  static async open(endpoints: readonly string[]): Promise<RawClient> {
    const nodes = await Promise.all(endpoints.map((endpoint) => RawConnection.open(endpoint)));
    const ready = nodes.map(
      (node) =>
        new Promise<void>((resolve) => {
          node.send(`use ${TUBE}\r\nwatch ${TUBE}\r\nignore default\r\n`, ignore);
          node.send('', ignore);
          node.send('', () => resolve());
        }),
    );
    await Promise.all(ready);
    return new RawClient(nodes, endpoints);
  }

  close(): void {
    for (const node of this.nodes) node.close();
  }

  /** Stores jobs, 256 in flight, with this delay of the primaries in seconds. */
  schedule(jobs: number, delay: number): Promise<void> {
    return new Promise((resolve) => {
      let begun = 0;
      let stored = 0;
      const begin = () => {
        const job = begun++;
        const siblings: string[] = [];
        for (let index = 1; index < NODES; index++) {
          const node = (job + index) % NODES;
          this.put(node, delay + BACKUP_DELAY, body(job, index, ''), (line) => {
            siblings.push(`[${index},"${this.endpoints[node]}#0123456789abcdef:${line.slice(9)}"]`);
            if (siblings.length === NODES - 1) primary(job, siblings);
          });
        }
      };
      const primary = (job: number, siblings: readonly string[]) =>
        this.put(job % NODES, delay, body(job, 0, `,"l":[${siblings.join()}]`), () => {
          if (++stored === jobs) resolve();
          else if (begun < jobs) begin();
        });
      while (begun < Math.min(IN_FLIGHT, jobs)) begin();
    });
  }

  /** Reserves this number of ready jobs. Resolves when all copies of all these jobs are deleted. */
  drain(jobs: number): Promise<void> {
    return new Promise((resolve) => {
      let deleted = 0;
      const count = () => {
        if (++deleted === jobs * NODES) resolve();
      };
      const deleteAll = (node: number, line: string, text: string) => {
        this.nodes[node]!.send(`delete ${line.split(' ', 2)[1]}\r\n`, count);
        const header = JSON.parse(text.slice(4, text.indexOf('\n'))) as { l: [number, string][] };
        for (const [, location] of header.l) {
          const [place, copyId] = location.split('#') as [string, string];
          const id = copyId.slice(copyId.indexOf(':') + 1);
          this.nodes[this.endpoints.indexOf(place)]!.send(`delete ${id}\r\n`, count);
        }
      };
      const reserve = (node: number) => {
        let answered = 0;
        let got = 0;
        for (let asked = 0; asked < BATCH; asked++) {
          this.nodes[node]!.send('reserve-with-timeout 0\r\n', (line, text) => {
            if (text !== undefined) {
              got++;
              deleteAll(node, line, text);
            }
            if (++answered === BATCH && got > 0) reserve(node);
          });
        }
      };
      for (let node = 0; node < NODES; node++) {
        for (let batch = 0; batch < BATCHES; batch++) reserve(node);
      }
    });
  }

  private put(node: number, delay: number, text: string, done: (line: string) => void): void {
    this.nodes[node]!.send(`put 1073741824 ${delay} ${TTR} ${text.length}\r\n${text}\r\n`, done);
  }
}

/** A body as large as that of a copy of the library. */
function body(job: number, index: number, more: string): string {
  const id = `01K${String(job).padStart(23, '0')}`;
  return `dq1 {"id":"${id}","due":${Date.now()},"n":${NODES},"i":${index}${more}}\n${PAYLOAD}`;
}

function ignore(): void {}
