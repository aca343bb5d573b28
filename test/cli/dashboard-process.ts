import { once } from 'node:events';
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { afterEach } from '@jest/globals';
import { NestDqProcess, type Settings } from './nest-dq-process.js';

/** The parts of an HTTP answer that specs look at. */
export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

type Headers = Readonly<Record<string, string>>;

/** A process of `nest-dq dashboard`, and requests to it with any header, which a browser would not let a page send. */
export class DashboardProcess {
  constructor(
    readonly process: NestDqProcess,
    /** As it was printed, with the token. */
    readonly address: URL,
  ) {}

  /** Opens the address, as a browser does. Resolves with the cookie that the browser gets. */
  async open(): Promise<string> {
    const { headers } = await this.get(this.address.pathname + this.address.search);
    return headers['set-cookie']![0]!.split(';')[0]!;
  }

  /** Where a file or a route of the dashboard is. */
  path(name = ''): string {
    return this.address.pathname + name;
  }

  get(path: string, headers: Headers = {}, method = 'GET'): Promise<Answered> {
    return this.ask(path, method, headers);
  }

  /** Does an act, as the page does. */
  act(name: string, body: object, headers: Headers): Promise<Answered> {
    const own = { 'content-type': 'application/json', 'x-nest-dq': '1', 'sec-fetch-site': 'same-origin' };
    return this.ask(this.path(`api/acts/${name}`), 'POST', { ...own, ...headers }, JSON.stringify(body));
  }

  /** Begins to listen to what the page shows live. */
  async listen(headers: Headers): Promise<IncomingMessage> {
    return this.send(this.path('api/live'), 'GET', headers);
  }

  private async ask(path: string, method: string, headers: Headers, body?: string): Promise<Answered> {
    const answer = await this.send(path, method, headers, body);
    let text = '';
    for await (const chunk of answer.setEncoding('utf8')) text += chunk as string;
    return { status: answer.statusCode!, headers: answer.headers, text };
  }

  private async send(
    path: string,
    method: string,
    headers: Headers,
    body?: string,
  ): Promise<IncomingMessage> {
    const { hostname, port } = this.address;
    const sent = request({ hostname, port, path, method, headers, agent: false });
    sent.end(body);
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    return answer;
  }
}

/** Call it at the top of a spec file, after that of a browser. What a test starts is killed after it. */
export function dashboardProcesses() {
  const started: NestDqProcess[] = [];
  afterEach(async () => {
    for (const process of started) process.kill('SIGKILL');
    await Promise.all(started.splice(0).map(({ ended }) => ended));
  });
  return async (settings: Settings, ...args: string[]): Promise<DashboardProcess> => {
    const process = new NestDqProcess(['dashboard', ...args], settings);
    started.push(process);
    return new DashboardProcess(process, new URL(await process.says(/opens (http:\S+)\n/)));
  };
}
