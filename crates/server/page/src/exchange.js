// A request and its whole response. Not in api.js, because early.js sends the first request before
// that is loaded: the response should be read when the page starts, so that the chart is in the
// first paint.

export async function exchange(request) {
  const response = await request;
  const envelope = await response.json().catch((error) => {
    if (error.name === 'AbortError') throw error;
    return undefined;
  });
  return { response, envelope };
}
