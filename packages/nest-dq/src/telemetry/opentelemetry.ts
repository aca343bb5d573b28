/**
 * Metrics and traces. It needs the package `@opentelemetry/api`, which nothing else here does.
 * @module nest-dq/opentelemetry
 */
import type { DqHooks } from '../events/hooks.js';
import { recordMetrics } from './metrics.js';
import { carryTrace, spanAround } from './tracing.js';

/**
 * Metrics, spans and the context of traces, by whatever providers and propagator are registered with OpenTelemetry before
 * the application starts: `DqModule.forRoot({ hooks: [openTelemetry()] })`. Where none is registered, it does nothing.
 * docs/observability.md lists all names.
 */
export function openTelemetry(): DqHooks {
  return { onSchedule: carryTrace, aroundHandler: spanAround, onStart: recordMetrics };
}
