// A question and its whole answer. Apart from api.js because the first question is asked before that is there (early.js): when the
// page begins, the answer should be read already, so that the chart is in the very first picture.

export async function exchange(asked) {
  const response = await asked;
  const envelope = await response.json().catch((error) => {
    if (error.name === 'AbortError') throw error;
    return undefined;
  });
  return { response, envelope };
}
