import {
  Controller,
  Get,
  Inject,
  NotFoundException,
  Post,
  Req,
  Res,
  SetMetadata,
  UseGuards,
  VERSION_NEUTRAL,
  type Type,
} from '@nestjs/common';
import { CLIENT_FILES, PAGE_FILE } from './client-files.js';
import { Dashboard } from './dashboard.js';
import type { HttpRequest, HttpResponse } from './http.js';
import type { ResolvedExtras } from './options.js';
import { READS } from './reads.js';

/**
 * Creates the controller of one dashboard. Each answer is sent here, so that an interceptor of the application can't wrap what the
 * page reads. Each dashboard has its own class, because path, guards and decorators belong to the class.
 */
export function makeController({ path, guards, decorators }: ResolvedExtras): Type<unknown> {
  @Controller({ path, version: VERSION_NEUTRAL })
  class DqDashboardController {
    constructor(@Inject(Dashboard) readonly dashboard: Dashboard) {}

    // Nest removes one / from the end of a route, and Fastify needs it.
    @Get(['', '//'])
    page(@Req() request: HttpRequest, @Res() response: HttpResponse): Promise<void> {
      return this.dashboard.page(request, response);
    }

    @Get([...CLIENT_FILES])
    file(@Req() request: HttpRequest, @Res() response: HttpResponse): Promise<void> {
      const [path = ''] = (request.originalUrl ?? request.url).split('?');
      const name = CLIENT_FILES.find((each) => path.endsWith(`/${each}`));
      if (name === undefined) throw new NotFoundException(`Cannot GET ${path}`); // with an escape that routers decode
      return this.dashboard.file(request, response, name);
    }

    @Get('pages/:file')
    pageFile(@Req() request: HttpRequest, @Res() response: HttpResponse): Promise<void> {
      const { file = '' } = request.params;
      if (!PAGE_FILE.test(file))
        throw new NotFoundException(`Cannot GET ${request.originalUrl ?? request.url}`);
      return this.dashboard.file(request, response, `pages/${file}`);
    }

    @Get(API_PATHS)
    read(@Req() request: HttpRequest, @Res() response: HttpResponse): Promise<void> {
      return answerRead(this.dashboard, request, response);
    }

    @Post('api/acts/:act')
    act(@Req() request: HttpRequest, @Res() response: HttpResponse): Promise<void> {
      return this.dashboard.act(request, response);
    }
  }
  UseGuards(...guards)(DqDashboardController);
  SetMetadata(EXCLUDED_BY_SWAGGER, [true])(DqDashboardController);
  for (const decorate of decorators) decorate(DqDashboardController);
  return DqDashboardController;
}

/** Set by `ApiExcludeController()` of @nestjs/swagger: an API document of the application leaves these routes out. */
const EXCLUDED_BY_SWAGGER = 'swagger/apiExcludeController';

/** Names of the segments below `api/`: no read has more. */
const SEGMENTS = ['segment1', 'segment2', 'segment3', 'segment4', 'segment5'] as const;
/** A path for each number of segments: Express and Fastify have no wildcard in common, and Nest logs each path at the start. */
const API_PATHS = SEGMENTS.map((_, last) => ['api', ...SEGMENTS.slice(0, last + 1)].join('/:'));

type Answer = (dashboard: Dashboard, request: HttpRequest, response: HttpResponse) => Promise<void>;

/** Answers by path below `api/`. */
const ANSWERS = Object.entries<Answer>({
  session: (dashboard, ...http) => dashboard.session(...http),
  live: (dashboard, ...http) => dashboard.live(...http),
  'job/payload': (dashboard, ...http) => dashboard.payload(...http),
  'tubes/:tube/dead/:id/payload': (dashboard, ...http) => dashboard.letterPayload(...http),
  'kafka/letter/payload': (dashboard, ...http) => dashboard.kafkaPayload(...http),
  ...Object.fromEntries(
    Object.entries(READS).map(([path, read]): [string, Answer] => [
      path,
      (dashboard, ...http) => dashboard.read(...http, read),
    ]),
  ),
}).map(([path, answer]) => ({ segments: path.split('/'), answer }));

/** Rejects with Nest's 404 for a path that nothing answers. */
async function answerRead(dashboard: Dashboard, request: HttpRequest, response: HttpResponse): Promise<void> {
  const given = SEGMENTS.map((name) => request.params[name]).filter((each) => each !== undefined);
  for (const { segments, answer } of ANSWERS) {
    const params = paramsOf(segments, given);
    if (!params) continue;
    (request as { params: HttpRequest['params'] }).params = { ...request.params, ...params };
    return answer(dashboard, request, response);
  }
  throw new NotFoundException(`Cannot GET ${request.originalUrl ?? request.url}`);
}

/** The named segments of a path; undefined if what is given is another path. */
function paramsOf(path: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  if (path.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [i, segment] of path.entries()) {
    if (segment.startsWith(':')) params[segment.slice(1)] = given[i]!;
    else if (segment !== given[i]) return undefined;
  }
  return params;
}
