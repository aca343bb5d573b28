import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Span,
} from '@opentelemetry/api';
import { isOutcome } from '../consumer/run/outcome.js';
import { toError } from '../errors.js';
import type { DelayedJob } from '../api/job.js';
import { isThenable } from 'nest-handlers/context';
import { SCOPE, tubeAttributes } from './names.js';

/** Injects the caller's trace and baggage into the job's headers. */
export function carryTrace(headers: Record<string, string>): void {
  propagation.inject(context.active(), headers);
}

/**
 * Runs a handler inside a span. The span starts its own trace, because the job may run days later, and links to the span that
 * scheduled the job. The handler gets the baggage of the add.
 */
export function spanAround(job: DelayedJob, next: () => unknown): unknown {
  const carried = propagation.extract(ROOT_CONTEXT, job.headers);
  const scheduledBy = trace.getSpanContext(carried);
  const { tube, id, attempt } = job;
  const span = trace.getTracer(SCOPE).startSpan(
    `process ${tube}`,
    {
      kind: SpanKind.CONSUMER,
      root: true,
      links: scheduledBy ? [{ context: scheduledBy }] : [],
      attributes: {
        ...tubeAttributes(tube, 'process'),
        'messaging.message.id': id,
        'dq.job.attempt': attempt,
      },
    },
    carried,
  );
  return context.with(trace.setSpan(carried, span), () => ending(span, next));
}

/** Returns or throws what `next` does, and ends the span. */
function ending(span: Span, next: () => unknown): unknown {
  const returned = (value: unknown) => {
    end(span, isOutcome(value) ? value['~outcome'] : 'done');
    return value;
  };
  const threw = (thrown: unknown): never => {
    // An outcome chosen by the handler isn't an error.
    end(span, isOutcome(thrown) ? thrown['~outcome'] : toError(thrown));
    throw thrown;
  };
  let result: unknown;
  try {
    result = next();
  } catch (thrown) {
    return threw(thrown);
  }
  return isThenable(result) ? result.then(returned, threw) : returned(result);
}

function end(span: Span, how: string | Error): void {
  if (typeof how === 'string') span.setAttribute('dq.job.outcome', how);
  else {
    span.recordException(how);
    span.setStatus({ code: SpanStatusCode.ERROR, message: how.message });
    span.setAttribute('error.type', how.name);
  }
  span.end();
}
