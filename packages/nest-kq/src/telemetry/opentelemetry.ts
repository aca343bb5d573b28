/**
 * Metrics and traces. Only this entry needs the package `@opentelemetry/api`.
 * @module nest-kq/opentelemetry
 */
import type { Attributes } from '@opentelemetry/api';
import type { Pushed, PushResult } from '../api/message.js';
import type { KqClusterView, KqHooks, KqPushCall, KqRun } from '../events/hooks.js';
import { systemClock } from 'nest-handlers/time';
import { recordMetrics, type Measured } from './metrics.js';
import { GROUP, topicAttributes } from './names.js';
import { carryTrace, errorType, spanAroundPush, spanAroundRun } from './tracing.js';

/**
 * Metrics, spans and the context of traces: `KqModule.forRoot({ hooks: [openTelemetry()] })`, one for each cluster. It uses the
 * providers and the propagator that are registered with OpenTelemetry before the application starts. If none is registered,
 * it does nothing. docs/kq/observability.md lists all names.
 */
export function openTelemetry(): KqHooks {
  let measured: Measured | undefined;
  let ofCluster: Attributes = {};
  let ofClient: Attributes = {};

  return {
    onPush: carryTrace,

    aroundPush<T extends Pushed | PushResult[]>(call: KqPushCall, next: () => Promise<T>): Promise<T> {
      const attributes = { ...topicAttributes(call.topic, 'send'), ...ofCluster };
      const ended = timing((seconds, error) => measured?.pushed(seconds, { ...attributes, ...error }));
      return spanAroundPush(call, { ...ofClient, ...ofCluster }, next, ended);
    },

    aroundHandler(run: KqRun, next: () => unknown): Promise<unknown> {
      const { topic } = run.messages[0]!;
      const attributes = { ...topicAttributes(topic, 'process'), [GROUP]: run.group, ...ofCluster };
      measured?.called(run.messages.length, attributes);
      const ended = timing((seconds, error) => measured?.ran(seconds, { ...attributes, ...error }));
      return spanAroundRun(run, { ...ofClient, ...ofCluster }, next, ended);
    },

    onStart(view: KqClusterView) {
      ofCluster = view.name === undefined ? {} : { 'kq.cluster': view.name };
      ofClient = { 'messaging.client.id': view.clientId };
      measured = recordMetrics(view, ofCluster);
      return () => measured?.stop();
    },
  };
}

/** Tells how long it was until the end, and the type of the error, if there was one. */
function timing(tell: (seconds: number, error: Attributes) => void): (error: Error | undefined) => void {
  const begin = systemClock.now();
  return (error) =>
    tell((systemClock.now() - begin) / 1_000, error ? { 'error.type': errorType(error) } : {});
}
