import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Injectable } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { metrics } from '@opentelemetry/api';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { DelayedHandler, DqEvents, DqModule, DqProducer, Recurring } from 'nest-dq';
import { DqControl } from 'nest-dq/operate';
import { openTelemetry, recordOutbox } from 'nest-dq/opentelemetry';
import type { EventHub } from 'nest-dq/src/events/event-hub.js';
import { eventually } from 'test-servers';
import { optionsOf, startServers } from '../support/system.js';

@Injectable()
class Mails {
  constructor(readonly dq: DqProducer) {}

  @DelayedHandler('mail', { attempts: 1 })
  send(to: string): void {
    if (to === 'nobody') throw new Error('no such person');
  }

  @Recurring('report', '0 0 1 1 *')
  report(): void {}
}

/**
 * The metrics that Prometheus reads from an application on a real cluster, after a completed job, a dead one, an expired one, the state of an outbox, and events of
 * removed letters, a lost job and a refused copy.
 */
export async function exposition(): Promise<string> {
  const exporter = new PrometheusExporter({ preventServerStart: true });
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [exporter] }));
  const scraped = createServer((request, response) => exporter.getMetricsRequestHandler(request, response));
  const servers = await startServers();
  const quiet = { log: () => undefined, warn: () => undefined, error: () => undefined };
  const dq = DqModule.forRoot({ ...optionsOf(servers), hooks: [openTelemetry()], logger: quiet });
  class AppModule {}
  const app = await NestFactory.createApplicationContext(
    { module: AppModule, imports: [dq], providers: [Mails] },
    { logger: false },
  );
  try {
    let ended = 0;
    for (const event of ['completed', 'dead', 'expired'] as const) {
      app
        .get(DqEvents)
        .on(event)
        .subscribe(() => (ended += 1));
    }
    for (const to of ['Ada', 'nobody']) await app.get(Mails).dq.now('mail', to);
    await eventually('both ended', () => ended === 2);
    recordOutbox({ state: async () => ({ waiting: 2, stuck: 1, oldestFor: 3_000 }) });
    await app.get(DqControl).pause('mail');
    await app.get(Mails).dq.now('mail', 'Ada', { expireAfter: '1ms' });
    await app.get(DqControl).resume('mail');
    await eventually('it expired', () => ended === 3);
    const events = app.get<EventHub>(DqEvents);
    events.emit('lettersRemoved', { tube: 'mail', tooOld: 1, tooMany: 1 });
    events.emit('lost', { tube: 'mail', id: 'a', dueAt: new Date(), attempt: 0, copies: 3 });
    events.emit('badSeal', {
      tube: 'mail',
      node: 'a:1',
      copyId: '1',
      reason: 'DQ_BAD_SEAL: it has no seal',
      buried: true,
    });
    await new Promise<void>((resolve) => scraped.listen(0, '127.0.0.1', resolve));
    const { port } = scraped.address() as AddressInfo;
    let text = '';
    // Dead letters are counted by the first look at all tubes, which the first reading begins once this process is elected.
    await eventually('the tubes are exposed', async () => {
      const response = await fetch(`http://127.0.0.1:${port}/metrics`);
      text = await response.text();
      return /^dq_tube_jobs\{.*dq_job_state="dead".*\} 1$/m.test(text);
    });
    return text;
  } finally {
    scraped.close();
    await app.close();
    await servers.stop();
    metrics.disable();
  }
}

/** All series of an exposition, each with its labels. */
export function seriesOf(text: string): Map<string, Set<string>> {
  const all = new Map<string, Set<string>>();
  for (const [, name, labels] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const known = all.get(name!) ?? new Set();
    for (const [, label] of (labels ?? '').matchAll(/(\w+)="/g)) known.add(label!);
    all.set(name!, known);
  }
  return all;
}
