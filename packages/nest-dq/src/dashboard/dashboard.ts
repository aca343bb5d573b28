import { createHash } from 'node:crypto';
import { Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { ApplicationConfig, HttpAdapterHost, ModuleRef, ModulesContainer } from '@nestjs/core';
import { DqError, toError } from '../errors.js';
import type { DqRuntime } from '../nest/runtime.js';
import { dqTokens } from '../nest/tokens.js';
import { VERSION } from '../fleet/version.js';
import { systemClock } from 'nest-handlers/time';
import { refuseElsewhere, refuseForeignAct, refuseForeignRead, type Viewer, viewerOf } from './access.js';
import { BEGIN_BULK, DO_SINGLE, isBulkAct, isSingleAct } from './acts.js';
import { type ClientFile, ClientFiles } from './client-files.js';
import { errorWire, failureOf, Refusal } from './failures.js';
import {
  type Answer,
  type HttpRequest,
  type HttpResponse,
  jsonAnswer,
  send,
  StreamedAnswer,
} from './http.js';
import { Input, JOB_FIELDS, jobRef } from './input.js';
import { KAFKA_LETTER, KafkaClusters, kafkaLetter } from './kafka.js';
import { LiveFeed } from './live-feed.js';
import { environmentOf, type DqDashboardOptions } from './options.js';
import type { Read } from './reads.js';
import { ProblemWatch, type WatchedParts } from './problem-watch.js';
import { redacted, redactedLetter } from './redact.js';
import type { BulkLine, BulkProgressWire } from './wire.js';

const NO_BODY =
  'the application parsed no JSON body, for example because of `bodyParser: false`: use `express.json()` for the path of the dashboard';

const ADD_SLASH = `location.replace(location.origin + location.pathname + '/' + location.search + location.hash)`;
/**
 * Leads to the same address with / at its end. Only the browser knows that address: a proxy may map another name to ours, so
 * that neither an absolute nor a relative Location is right.
 */
const TO_SLASH: Answer = {
  headers: {
    'Cache-Control': 'no-store',
    'Content-Security-Policy': `default-src 'none'; script-src 'sha256-${createHash('sha256').update(ADD_SLASH).digest('base64')}'; frame-ancestors 'self'`,
    'Content-Type': 'text/html; charset=utf-8',
  },
  body: `<!doctype html><html lang="en"><title>nest-dq</title><script>${ADD_SLASH}</script><noscript>This page needs JavaScript.</noscript></html>`,
};

/** Resolves with the answer, or with undefined if the answer is a stream, which continues on its own. */
type Work = (viewer: Viewer) => Promise<Answer | undefined>;

/** One dashboard: what its routes do, and for whom. */
export class Dashboard implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger('DqDashboard');
  private readonly files = new ClientFiles();
  private readonly bulks = new BulkAnswers();
  private runtime!: DqRuntime;
  private feed!: LiveFeed;
  private kafka!: KafkaClusters;

  constructor(
    private readonly options: DqDashboardOptions,
    private readonly cluster: string | undefined,
    /** Below the global prefix. */
    private readonly path: string,
    /** Whether there are no access rules. Then only this machine has access. */
    private readonly open: boolean,
    private readonly module: ModuleRef,
    private readonly modules: ModulesContainer,
    private readonly host: HttpAdapterHost,
    private readonly config: ApplicationConfig,
  ) {}

  /** Throws `DQ_CONFIG` if the cluster doesn't exist, or another dashboard has the same path. */
  onModuleInit(): void {
    this.refuseSamePath();
    const token = dqTokens.of('runtime', this.cluster);
    try {
      this.runtime = this.module.get<DqRuntime>(token, { strict: false });
    } catch (cause) {
      const fact = `the cluster of the dashboard is ${dqTokens.showCluster(this.cluster)}, which does not exist: expected DqModule.forRoot or forRootAsync with that \`name\` in the application`;
      throw new DqError('DQ_CONFIG', fact, { cause });
    }
    this.kafka = KafkaClusters.in(this.modules);
    const { inspector, health } = this.runtime;
    const ask = {
      tubes: () => inspector.tubes(),
      nodes: () => inspector.nodes(),
      ledger: () => inspector.ledger(),
      processes: () => inspector.processes(),
      acts: () => inspector.acts({ limit: 1 }),
      health: async () => (await health.check()).dq,
    };
    const now = () => this.runtime.now();
    const watch = new ProblemWatch({
      clock: systemClock,
      now,
      minWritten: this.runtime.options.minWritten,
      tube: (name) => inspector.tube(name),
      acts: (limit) => inspector.acts({ limit }),
      recentRuns: () => inspector.recentRuns(),
      unequal: () => this.runtime.process.unequalFacts,
      series: () => inspector.seriesStates(),
      gone: () => inspector.goneProcesses(),
    });
    this.feed = new LiveFeed(ask, now, systemClock, (parts) => watch.judge(parts as WatchedParts));
    if (this.open) {
      const prefix = this.config
        .getGlobalPrefix()
        .replace(/^\/*(?=.)/, '/')
        .replace(/\/+$/, '');
      this.logger.warn(
        `everyone on this machine can see and do everything at ${prefix}${this.path}; set \`guards\` or \`access\` to restrict this, or to admit other machines`,
      );
    }
  }

  /** A router would never reach the second one. */
  private refuseSamePath(): void {
    for (const { providers } of this.modules.values()) {
      const other: unknown = providers.get(Dashboard)?.instance;
      if (!(other instanceof Dashboard) || other === this || other.path !== this.path) continue;
      const clusters = [this, other].map(({ cluster }) => dqTokens.showCluster(cluster)).join(' and ');
      const fact = `two dashboards have the path ${this.path}, of the clusters ${clusters}`;
      throw new DqError('DQ_CONFIG', `${fact}: expected another \`path\` for each DqDashboardModule`);
    }
  }

  /** Runs while everything still works: open streams would keep the server from closing. */
  async onModuleDestroy(): Promise<void> {
    this.feed?.close();
    await this.bulks.close();
  }

  /** Sends the page, whose address has to end with / since all its requests are relative. */
  page(request: HttpRequest, response: HttpResponse): Promise<void> {
    return this.answer(request, response, async () => {
      const [path = ''] = (request.originalUrl ?? request.url).split('?');
      return path.endsWith('/') ? this.files.answer('index.html', request) : TO_SLASH;
    });
  }

  file(request: HttpRequest, response: HttpResponse, name: ClientFile): Promise<void> {
    return this.answer(request, response, () => this.files.answer(name, request));
  }

  session(request: HttpRequest, response: HttpResponse): Promise<void> {
    return this.respond(request, response, [], async ({ acts, payloads }) => ({
      version: VERSION,
      now: new Date(this.runtime.now()),
      acts: [...acts].filter((name) => name !== 'runEdited' || this.showsAll(payloads)),
      payloads,
      prefix: this.runtime.options.prefix,
      ...(this.cluster !== undefined && { cluster: this.cluster }),
      kafka: this.kafka.names,
      environment: environmentOf(this.options),
    }));
  }

  read(request: HttpRequest, response: HttpResponse, { query, read }: Read): Promise<void> {
    return this.respond(request, response, query, ({ payloads }, input) =>
      read(this.runtime, input, request.params['tube'] ?? '', this.kafka, this.showsAll(payloads)),
    );
  }

  payload(request: HttpRequest, response: HttpResponse): Promise<void> {
    return this.respond(request, response, JOB_FIELDS, (viewer, input) =>
      this.showPayload(viewer, jobRef(input, this.runtime.options.prefix)),
    );
  }

  letterPayload(request: HttpRequest, response: HttpResponse): Promise<void> {
    const { tube = '', id = '' } = request.params;
    return this.respond(request, response, [], (viewer) => this.showPayload(viewer, { tube, id }));
  }

  kafkaPayload(request: HttpRequest, response: HttpResponse): Promise<void> {
    return this.respond(request, response, KAFKA_LETTER, async (viewer, input) => {
      refusePayloads(viewer);
      return redactedLetter(this.options, await kafkaLetter(this.kafka, input));
    });
  }

  live(request: HttpRequest, response: HttpResponse): Promise<void> {
    return this.answer(request, response, async () => {
      refuseForeignRead(request);
      const stream: StreamedAnswer = new StreamedAnswer(response, () => this.feed.leave(stream));
      this.feed.join(stream);
      return undefined;
    });
  }

  act(request: HttpRequest, response: HttpResponse): Promise<void> {
    return this.answer(request, response, async ({ acts, payloads, by }) => {
      refuseForeignAct(request);
      const name = request.params['act'] ?? '';
      if (!isSingleAct(name) && !isBulkAct(name))
        throw new Refusal(404, 'NOT_FOUND', `unknown act ${JSON.stringify(name)}`);
      if (!acts.has(name)) throw new Refusal(403, 'NOT_ALLOWED', `this viewer may not perform ${name}`);
      if (name === 'runEdited' && !this.showsAll(payloads))
        throw new Refusal(
          403,
          'NOT_ALLOWED',
          'this viewer may not see payloads as they are, and so not edit them',
        );
      const doer = { by };
      const { runtime, kafka } = this;
      const { body } = request;
      if (body === undefined) throw new Refusal(400, 'NO_BODY', NO_BODY);
      if (isSingleAct(name)) return jsonAnswer({ result: await DO_SINGLE[name](runtime, body, doer, kafka) });
      await this.bulks.answer(response, BEGIN_BULK[name](runtime, body, doer, kafka));
      return undefined;
    });
  }

  /** Whether a viewer sees what jobs carry as it is: `redact` says what is shown of a payload, and knows nothing of headers. */
  private showsAll(payloads: boolean): boolean {
    return payloads && !this.options.redact;
  }

  private async showPayload(viewer: Viewer, ref: Parameters<typeof this.runtime.inspector.payload>[0]) {
    refusePayloads(viewer);
    const found = await this.runtime.inspector.payload(ref);
    if (!found) throw new Refusal(404, 'NOT_FOUND', 'no such job, or none of its copies is reachable');
    return redacted(this.options, found);
  }

  private respond(
    request: HttpRequest,
    response: HttpResponse,
    fields: readonly string[],
    read: (viewer: Viewer, query: Input) => Promise<unknown>,
  ): Promise<void> {
    return this.answer(request, response, async (viewer) => {
      refuseForeignRead(request);
      return jsonAnswer(await read(viewer, new Input('the query', request.query, fields)));
    });
  }

  /** Rejects with what `access` throws, for the application's exception filters; everything else is answered here. */
  private async answer(request: HttpRequest, response: HttpResponse, work: Work): Promise<void> {
    const viewer = await viewerOf(this.options, request);
    const answer = await this.answerFor(request, viewer, work);
    if (answer) send(this.host.httpAdapter, response, answer);
  }

  private async answerFor(
    request: HttpRequest,
    viewer: Viewer | undefined,
    work: Work,
  ): Promise<Answer | undefined> {
    try {
      if (this.open) refuseElsewhere(request);
      if (!viewer) throw new Refusal(403, 'NOT_ALLOWED', 'this viewer has no access');
      return await work(viewer);
    } catch (thrown) {
      const { status, error, internal } = failureOf(thrown);
      if (internal) this.logger.error(`request failed: ${internal.message}`, internal.stack);
      return jsonAnswer(error, status);
    }
  }
}

/** Throws a `Refusal`. */
function refusePayloads({ payloads }: Viewer): void {
  if (!payloads) throw new Refusal(403, 'NOT_ALLOWED', 'this viewer may not see payloads');
}

type Pages = AsyncIterator<BulkProgressWire, void>;

/**
 * Bulk acts, with the progress of each sent to its viewer page by page. If the viewer leaves, or on a shutdown, the act ends
 * after its page.
 */
class BulkAnswers {
  private readonly running = new Set<Promise<void>>();
  private closing = false;

  /** Resolves after the first page; the others follow. Rejects with the cause if there is no first page; nothing is answered then. */
  async answer(response: HttpResponse, pages: Pages): Promise<void> {
    const stream = new StreamedAnswer(response, () => undefined);
    const first = await pages.next();
    stream.open('application/x-ndjson; charset=utf-8');
    const running = this.tell(stream, pages, first).finally(() => this.running.delete(running));
    this.running.add(running);
  }

  /** Resolves when no act is running. */
  async close(): Promise<void> {
    this.closing = true;
    await Promise.all(this.running);
  }

  /** Never rejects. */
  private async tell(
    stream: StreamedAnswer,
    pages: Pages,
    first: IteratorResult<BulkProgressWire, void>,
  ): Promise<void> {
    const write = (line: BulkLine) => stream.write(`${JSON.stringify(line)}\n`);
    let page = first;
    try {
      while (!page.done) {
        write({ progress: page.value });
        if (this.closing || stream.gone) {
          await pages.return?.();
          write({
            error: { code: 'DQ_CLOSED', message: 'the server is shutting down; the act ended early' },
          });
          return;
        }
        page = await pages.next();
      }
      write({ end: true });
    } catch (thrown) {
      // The completed part of the failed page counts too.
      const progress = thrown instanceof DqError ? thrown.progress : undefined;
      if (progress && !page.done) write({ progress: { ...page.value, ...progress } });
      write({ error: errorWire(toError(thrown)) });
    } finally {
      stream.end();
    }
  }
}
